package controllers

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// join joins two words or more as a sentence does: "name, email and phone".
func join(words []string, conjunction string) string {
	last := len(words) - 1
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

// count formats a number of things.
func count(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}

// shorten cuts a name from a client to a length that fits into a sentence.
func shorten(name string) string {
	const most = 60
	if utf8.RuneCountInString(name) <= most {
		return name
	}
	return string([]rune(name)[:most]) + "…"
}
