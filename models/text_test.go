package models

import "testing"

func TestOnlyASCIILettersHaveACase(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "ada": "ada", "ADA@Example.org": "ada@example.org", "ÄÖ ẞ I İ ı": "ÄÖ ẞ i İ ı", "[@Z`{": "[@z`{", "A\x00B\xff": "a\x00b\xff",
	} {
		if got := LowerASCII(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
