package models

import "strings"

// LowerASCII returns a text with its ASCII letters in lower case, and all others as they are: the case that searches, and
// emails where their index ignores the case, do not distinguish. A text without capitals is returned as it is.
func LowerASCII(text string) string {
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

func isCapital(char rune) bool { return 'A' <= char && char <= 'Z' }
