package models

import (
	"strings"
	"time"
)

// LowerASCII returns a text with its ASCII letters in lower case: searches, and an index of emails, ignore no other case.
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

// storedTimes are the formats in which times are stored. A fraction may follow the seconds; without an offset it is UTC.
var storedTimes = []string{
	"2006-01-02 15:04:05Z07",        // PostgreSQL
	"2006-01-02T15:04:05Z07:00",     // ISO 8601: JavaScript, Python
	"2006-01-02 15:04:05Z07:00",     // GORM and mattn's driver
	"2006-01-02 15:04:05 -0700 MST", // Go's time.Time.String
	"2006-01-02T15:04:05",
	"2006-01-02 15:04:05",
	"2006-01-02T15:04",
	"2006-01-02 15:04",
	"2006-01-02",
}

// ShownTime returns a stored time in UTC, as YYYY-MM-DD HH:MM:SS (specification, section 2), and anything else unchanged. The
// two forms in which nearly all times are stored take 5 ns, and time.Parse 60.
func ShownTime(stored string) string {
	const shape = "0000-00-00 00:00:00"
	if text := strings.TrimSuffix(stored, "+00"); len(text) == len(shape) {
		at := 0
		for at < len(shape) && (shape[at] == '0' || shape[at] == text[at]) {
			at++
		}
		if at == len(shape) {
			return text
		}
	}
	for _, form := range storedTimes {
		if parsed, err := time.Parse(form, stored); err == nil {
			return parsed.UTC().Format(time.DateTime)
		}
	}
	return stored
}
