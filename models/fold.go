package models

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Fold returns a text as searches and sorted lists compare it: in lower case, without accents, and with the letters of
// [Undecomposed] as people type them without their keyboard. Folded again it stays the same. What is no UTF-8 stays.
//
// Both databases do the same: SQLite calls this, and database/postgres_dialect.go says it in PostgreSQL's words. A text with
// one of [LaterCharacters] has only its ASCII letters folded.
func Fold(text string) string {
	isASCII := !strings.ContainsFunc(text, func(char rune) bool { return char >= utf8.RuneSelf })
	if isASCII || strings.ContainsFunc(text, func(char rune) bool { return unicode.Is(LaterCharacters, char) }) {
		return LowerASCII(text)
	}
	decomposed := norm.NFD.String(text)
	folded := make([]byte, 0, len(decomposed))
	for at, char := range decomposed {
		lower := unicode.ToLower(char)
		typed, isKnown := Undecomposed[lower]
		switch {
		case isAccent(char):
		case isKnown:
			folded = append(folded, typed...)
		case char == utf8.RuneError: // perhaps a byte that is no character
			_, size := utf8.DecodeRuneInString(decomposed[at:])
			folded = append(folded, decomposed[at:at+size]...)
		default:
			folded = utf8.AppendRune(folded, lower)
		}
	}
	return string(norm.NFC.Bytes(folded)) // か with its mark is が again, and 하 is one character
}

// FoldedWords returns the words of a text, which white space separates, folded. A word that is within another is left
// out: whoever has that has it, too.
func FoldedWords(text string) (words []string) {
	for word := range strings.FieldsSeq(Fold(text)) {
		isWithin := func(other string) bool { return strings.Contains(other, word) }
		if !slices.ContainsFunc(words, isWithin) {
			words = append(words, word)
		}
	}
	return words
}

// HasWords reports whether every one of some folded words is in some field of a user that a client may set.
func (f Fields) HasWords(user *Profile, words []string) bool {
	var folded []string
	for _, field := range f.Settable() {
		if text := field.Value(user); text != nil {
			folded = append(folded, Fold(*text))
		}
	}
	isMissing := func(word string) bool {
		return !slices.ContainsFunc(folded, func(text string) bool { return strings.Contains(text, word) })
	}
	return !slices.ContainsFunc(words, isMissing)
}

func isAccent(char rune) bool { return '\u0300' <= char && char <= '\u036f' }

// Undecomposed are the letters in lower case that Unicode does not decompose, ς, which ends words, the apostrophes of
// phones, and what is pasted without being seen.
var Undecomposed = map[rune]string{
	'ł': "l", 'ø': "o", 'đ': "d", 'ð': "d", 'ħ': "h", 'ŧ': "t", 'ı': "i", 'ς': "σ",
	'ß': "ss", 'æ': "ae", 'œ': "oe", 'þ': "th", '’': "'", '‘': "'", '\u200b': "", '\ufeff': "",
}

// LaterCharacters are the marks and letters that Unicode has got since version 12, with rare ones between them:
// PostgreSQL from 13 to 18 decompose, order and lower them in different ways, or not at all.
var LaterCharacters = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x0897, 0x089f, 1}, {0x08ca, 0x08d2, 1}, {0x0c3c, 0x0c3c, 1}, {0x1715, 0x1715, 1}, {0x1abf, 0x1aff, 1}, {0x1c89, 0x1c8a, 1},
		{0x1dfa, 0x1dfa, 1}, {0x2c2f, 0x2c2f, 1}, {0xa7c0, 0xa7f5, 1}, {0xa82c, 0xa82c, 1},
	},
	R32: []unicode.Range32{
		{0x10570, 0x105ff, 1}, {0x10d40, 0x10d8f, 1}, {0x10ea0, 0x10eff, 1}, {0x10f82, 0x10f85, 1}, {0x11070, 0x11070, 1},
		{0x11380, 0x113ff, 1}, {0x11930, 0x1194f, 1}, {0x11f00, 0x11f5f, 1}, {0x16100, 0x1613f, 1}, {0x16d40, 0x16d7f, 1},
		{0x16ea0, 0x16edf, 1}, {0x16ff0, 0x16ff1, 1}, {0x1e08f, 0x1e08f, 1}, {0x1e2ae, 0x1e2ae, 1}, {0x1e4d0, 0x1e6ff, 1},
	},
}
