package models

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// AppendUser appends a user as JSON: first the fields of the specification, section 2, then optional ones.
// encoding/json would take longer than reading the row: 1.0 µs against 0.1 µs.
func (f Fields) AppendUser(to []byte, user *User) []byte {
	to = strconv.AppendInt(append(to, `{"id":`...), user.ID, 10)
	to = f.appendValues(to, &user.Profile, true)
	to = appendText(append(to, `,"created_at":`...), user.CreatedAt)
	return append(f.appendValues(to, &user.Profile, false), '}')
}

// AppendCreated appends the response to a creation: what the client sent, with the new id (specification, section 4).
func (f Fields) AppendCreated(to []byte, id int64, user *Profile) []byte {
	to = strconv.AppendInt(append(to, `{"id":`...), id, 10)
	to = f.appendValues(to, user, true)
	return append(f.appendValues(to, user, false), '}')
}

// JSON returns an object of some fields of a user.
func (f Fields) JSON(some FieldSet, user *Profile) *string {
	object := []byte("{")
	for field := range f.In(some) {
		object = field.append(object, user)
	}
	if len(object) > 1 {
		object = object[:copy(object[1:], object[2:])+1] // without the first comma
	}
	return new(string(append(object, '}')))
}

// append appends a comma, the name of the field, and its value.
func (f *Field) append(to []byte, user *Profile) []byte {
	if f.Type != nil {
		return f.Type.append(append(to, f.key...), f.Value(user))
	}
	return appendNullable(append(to, f.key...), f.Value(user))
}

func appendNullable(to []byte, text *string) []byte {
	if text == nil {
		return append(to, "null"...)
	}
	return appendText(to, *text)
}

// appendValues appends the values of the required fields, or those of the others.
func (f Fields) appendValues(to []byte, user *Profile, required bool) []byte {
	for _, field := range f {
		if field.Required == required {
			to = field.append(to, user)
		}
	}
	return to
}

// appendText appends text as a JSON string. Text in which encoding/json would escape or replace nothing is copied: it
// does so with U+2028, U+2029 and what is no UTF-8, too.
func appendText(to []byte, text string) []byte {
	isPlain, isASCII := true, true
	for i := range len(text) {
		char := text[i]
		isPlain = isPlain && char >= ' ' && char != '"' && char != '\\'
		isASCII = isASCII && char < utf8.RuneSelf
	}
	if isPlain && (isASCII || utf8.ValidString(text) && !strings.ContainsAny(text, "\u2028\u2029")) {
		return append(append(append(to, '"'), text...), '"')
	}
	buffer := bytes.NewBuffer(to)
	encoder := json.NewEncoder(buffer)
	encoder.SetEscapeHTML(false) // <, > and & stay as they were sent
	_ = encoder.Encode(text)     // encoding a string cannot fail
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))
}
