package models

// LowerASCII returns a text with its ASCII letters in lower case, and all others as they are: the case that searches, and
// emails where their index ignores the case, do not distinguish.
func LowerASCII(text string) string {
	lower := []byte(text)
	for i, char := range lower {
		if 'A' <= char && char <= 'Z' {
			lower[i] += 'a' - 'A'
		}
	}
	return string(lower)
}
