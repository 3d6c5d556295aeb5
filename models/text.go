package models

import (
	"strings"
	"time"
)

// LowerASCII returns a text with its ASCII letters in lower case: an index of emails ignores no other case.
func LowerASCII(text string) string {
	isCapital := func(char rune) bool { return 'A' <= char && char <= 'Z' }
	if !strings.ContainsFunc(text, isCapital) {
		return text
	}
	lower := []byte(text)
	for i, char := range lower {
		if isCapital(rune(char)) {
			lower[i] += 'a' - 'A'
		}
	}
	return string(lower)
}

// FalseWords are false as people and spreadsheets write it, in lower case; trueWords are true.
var (
	FalseWords = []string{"false", "0", "no", "falsch", "faux", "falso", "onwaar"}
	trueWords  = []string{"true", "1", "yes", "wahr", "vrai", "verdadero", "vero", "verdadeiro", "waar"}
)

// parseTime reads a day or a time as people and programs write it, with a blank for the T, too: in UTC, unless it has an
// offset. The day must exist.
func parseTime(text string) (moment time.Time, err error) {
	text = strings.Replace(text, " ", "T", 1)
	for _, form := range []string{
		time.DateOnly, "2006-01-02T15:04", "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04:05Z07:00",
	} {
		if moment, err = time.Parse(form, text); err == nil { // it takes fractions of seconds, too
			break
		}
	}
	return moment.UTC(), err
}
