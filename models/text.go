package models

import "strings"

// LowerASCII returns a text with its ASCII letters in lower case, and all others as they are: the case that searches, and
// emails where their index ignores the case, do not distinguish. It allocates nothing if there is nothing to change.
func LowerASCII(text string) string {
	if !strings.ContainsFunc(text, isUpperASCII) {
		return text
	}
	lower := []byte(text)
	for i, char := range lower {
		if isUpperASCII(rune(char)) {
			lower[i] += 'a' - 'A'
		}
	}
	return string(lower)
}

func isUpperASCII(char rune) bool { return 'A' <= char && char <= 'Z' }
