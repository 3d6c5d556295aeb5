package models

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// appendUser appends one user as the list shows it, with the fields in the order of the specification, section 2.
// It is written by hand because encoding/json takes longer than reading the row: 1.0 µs against 0.1 µs.
func appendUser(to []byte, user *User) []byte {
	to = append(to, `{"id":`...)
	to = strconv.AppendInt(to, user.ID, 10)
	to = append(to, `,"name":`...)
	to = appendText(to, user.Name)
	to = append(to, `,"email":`...)
	to = appendText(to, user.Email)
	to = append(to, `,"created_at":`...)
	to = appendText(to, user.CreatedAt)
	return append(to, '}')
}

// appendText appends text as a JSON string. What needs no escape is copied, and encoding/json does the rest.
func appendText(to []byte, text string) []byte {
	if needsEscape(text) {
		return appendEscaped(to, text)
	}
	to = append(to, '"')
	to = append(to, text...)
	return append(to, '"')
}

// needsEscape reports whether encoding/json would write text otherwise than as it stands: control characters,
// quotes, backslashes, the two line separators that JavaScript once refused, and bytes that are not UTF-8.
func needsEscape(text string) bool {
	ascii := true
	for i := range len(text) {
		char := text[i]
		if char < ' ' || char == '"' || char == '\\' {
			return true
		}
		ascii = ascii && char < utf8.RuneSelf
	}
	return !ascii && (!utf8.ValidString(text) || strings.ContainsAny(text, "\u2028\u2029"))
}

func appendEscaped(to []byte, text string) []byte {
	buffer := bytes.NewBuffer(to)
	encoder := json.NewEncoder(buffer)
	encoder.SetEscapeHTML(false) // <, > and & come back as they were sent
	_ = encoder.Encode(text)     // a string cannot fail
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))
}
