package controllers

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"iter"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"users-api/models"
)

// object is the text of one valid JSON object. Its fields are found in the text each time and not kept in a map: that is
// faster for bodies as short as a user's, and a body with a million fields takes no more memory than its text.
type object []byte

const space = " \t\r\n" // in JSON

// parseObject checks that a text is exactly one JSON object. The client sees its errors. A blank text and null count as
// an object without fields: the caller reports which fields are missing.
func parseObject(text []byte) (object, error) {
	whole := text
	text = bytes.Trim(whole, space)
	switch {
	case len(text) == 0 || string(text) == "null":
		return object("{}"), nil
	case !utf8.Valid(text):
		return nil, newError(bodyInvalid, "The request body is not UTF-8 text")
	case !json.Valid(text):
		syntax, _ := errors.AsType[*json.SyntaxError](json.Unmarshal(whole, new(json.RawMessage)))
		return nil, newError(bodyInvalid, "The request body is not valid JSON: see byte %d", syntax.Offset)
	case text[0] != '{':
		return nil, newError(bodyInvalid, "The request body must be a JSON object, not %s", kind(text))
	case hasLoneSurrogate(text):
		return nil, newError(bodyInvalid, `The request body has half of a character: \ud800 to \udfff must come in pairs`)
	}
	return text, nil
}

// kinds are the types of JSON values by their first byte, with their articles. Anything else is a number.
var kinds = map[byte]string{
	'{': "an object", '[': "an array", '"': "a string", 't': "true or false", 'f': "true or false", 'n': "null",
}

func kind(value []byte) string { return cmp.Or(kinds[value[0]], "a number") }

// fields yields each field in order: its decoded name, and the text of its value. Fields with equal names are all
// yielded; the last one counts.
func (o object) fields() iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		for at := 0; o[at] != '}'; { // at the brace or comma before a field
			colon := partEnd(o, at+1)
			if o[colon] == '}' { // no field
				return
			}
			end := partEnd(o, colon+1)
			if !yield(fieldName(bytes.Trim(o[at+1:colon], space)), bytes.Trim(o[colon+1:end], space)) {
				return
			}
			at = end
		}
	}
}

// find returns the value of each field of a user, or nil if it was not sent. Most objects have their keys in the order of
// the table, so the search for a key begins after the last field found.
func (o object) find(fields models.Fields) [][]byte {
	found := make([][]byte, len(fields))
	next := 0
	for name, value := range o.fields() {
		for range fields {
			at := next
			if next++; next == len(fields) {
				next = 0
			}
			if fields[at].Name == string(name) {
				found[at] = value
				break
			}
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

// partEnd returns where the name or value of a field ends: at the next colon, comma or brace that is not within it.
func partEnd(text []byte, at int) int {
	for depth := 0; ; at++ {
		switch char := text[at]; {
		case char == '"':
			for at++; text[at] != '"'; at++ {
				if text[at] == '\\' {
					at++
				}
			}
		case depth == 0 && (char == ':' || char == ',' || char == '}'):
			return at
		case char == '{', char == '[':
			depth++
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
		text = text[at:]
		first := escaped(text)
		if !utf16.IsSurrogate(first) {
			text = text[2:]
			continue
		}
		if text = text[6:]; utf16.DecodeRune(first, escaped(text)) == utf8.RuneError {
			return true
		}
		text = text[6:]
	}
}

// escaped returns the 16 bits of the \u escape that a text begins with, or 0.
func escaped(text []byte) rune {
	if !bytes.HasPrefix(text, []byte(`\u`)) {
		return 0
	}
	bits, _ := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(bits)
}
