package controllers

import (
	"strconv"
	"strings"
)

// join joins words as a sentence does: "name, email and phone".
func join(words []string, conjunction string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " " + conjunction + " " + words[last]
}

// withArticles returns words with "a" or "an" before each.
func withArticles(words []string) []string {
	all := make([]string, len(words))
	for i, word := range words {
		all[i] = "a " + word
		if strings.IndexByte("aeiou", word[0]) >= 0 {
			all[i] = "an " + word
		}
	}
	return all
}

func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + more
}

// shorten cuts a name from a client to a length that fits into a sentence.
func shorten(name string) string {
	const most = 60
	if runes := []rune(name); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return name
}
