package controllers

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"users-api/models"
)

// object is the text of one valid JSON object. Its fields are found in the text each time instead of being kept in a
// map: that is faster for bodies as short as a user's, and a body with a million fields takes no more memory than its
// text.
type object []byte

// parseObject checks that a text is exactly one JSON object. The client sees its errors. A blank text and null count as
// an object without fields: the caller reports which fields are missing.
func parseObject(text []byte) (object, error) {
	whole := text
	text = bytes.Trim(whole, " \t\r\n")
	switch {
	case len(text) == 0 || string(text) == "null":
		return object("{}"), nil
	case !utf8.Valid(text):
		return nil, badRequest("The request body is not UTF-8 text")
	case !json.Valid(text):
		return nil, badRequest("The request body is not valid JSON%s", place(whole))
	case text[0] != '{':
		return nil, badRequest("The request body must be a JSON object, not %s", kind(text))
	case hasLoneSurrogate(text):
		return nil, badRequest(`The request body has half of a character: \ud800 to \udfff must come in pairs`)
	}
	return text, nil
}

// place returns where a text stops being valid JSON.
func place(text []byte) string {
	var value json.RawMessage
	if syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(text, &value)); ok {
		return ": see byte " + strconv.FormatInt(syntax.Offset, 10)
	}
	return ""
}

// kind returns the type of a JSON value, with its article.
func kind(value []byte) string {
	switch value[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	default:
		return "a number"
	}
}

// fields yields each field in order: its decoded name, and the text of its value. Fields with equal names are all
// yielded; the last one counts.
func (o object) fields() iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		for at := skipSpace(o, 1); o[at] != '}'; {
			nameEnd := stringEnd(o, at)
			valueStart := skipSpace(o, skipSpace(o, nameEnd)+1) // after the colon
			valueEnd := valueEnd(o, valueStart)
			if !yield(fieldName(o[at:nameEnd]), bytes.TrimRight(o[valueStart:valueEnd], " \t\r\n")) {
				return
			}
			if at = valueEnd; o[at] == ',' {
				at = skipSpace(o, at+1)
			}
		}
	}
}

// find returns the value of each field of a user, or nil if it was not sent.
func (o object) find(fields models.Fields) [][]byte {
	found := make([][]byte, len(fields))
	for name, value := range o.fields() {
		at := slices.IndexFunc(fields, func(field *models.Field) bool { return field.Name == string(name) })
		if at >= 0 {
			found[at] = value
		}
	}
	return found
}

// fieldName decodes the name of a field, without a copy if it has no escapes.
func fieldName(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	return []byte(decodeText(quoted))
}

// decodeText decodes a valid JSON string.
func decodeText(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	var text string
	if err := json.Unmarshal(quoted, &text); err != nil {
		panic(err)
	}
	return text
}

func skipSpace(text []byte, at int) int {
	for text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n' {
		at++
	}
	return at
}

// stringEnd returns where the string that begins at a quote ends.
func stringEnd(text []byte, at int) int {
	for at++; text[at] != '"'; at++ {
		if text[at] == '\\' {
			at++
		}
	}
	return at + 1
}

// valueEnd returns where the value of a field ends: at the next comma or at the object's closing brace.
func valueEnd(text []byte, at int) int {
	for depth := 0; ; at++ {
		switch char := text[at]; {
		case char == '"':
			at = stringEnd(text, at) - 1
		case char == '{', char == '[':
			depth++
		case depth == 0 && (char == ',' || char == '}'):
			return at
		case char == '}', char == ']':
			depth--
		}
	}
}

// hasLoneSurrogate reports whether valid JSON has an escape of half a character. encoding/json reads each as U+FFFD, so
// two different emails would become the same.
func hasLoneSurrogate(text []byte) bool {
	for {
		at := bytes.IndexByte(text, '\\')
		if at < 0 {
			return false
		}
		first, length := escape(text[at:])
		text = text[at+length:]
		if !utf16.IsSurrogate(first) {
			continue
		}
		second, length := escape(text)
		if utf16.DecodeRune(first, second) == utf8.RuneError {
			return true
		}
		text = text[length:]
	}
}

// escape returns the 16 bits of the \u escape that a text begins with, and its length. For anything else the bits are
// 0.
func escape(text []byte) (unit rune, length int) {
	if text[0] != '\\' {
		return 0, 1
	}
	if text[1] != 'u' {
		return 0, 2
	}
	bits, _ := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(bits), 6
}
