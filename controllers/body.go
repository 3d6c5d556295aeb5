package controllers

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net"
	"net/http"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"users-api/models"
)

// takeObject reads a request body that is exactly one JSON object, and passes it on. Gin's own JSON binding would
// accept text after the object and keys in any letter case, and its errors mention Go types.
func takeObject(c *gin.Context, take func(object) error) error {
	body, err := io.ReadAll(c.Request.Body)
	switch {
	case err != nil:
		return unreadable(err)
	case bytes.HasPrefix(body, []byte(gzipMagic)), compression.MatchString(c.GetHeader("Content-Encoding")):
		return newError("body_invalid", "The request body is compressed: send it uncompressed")
	}
	sent, err := parseObject(body)
	if err != nil {
		return err
	}
	return take(sent)
}

const byteOrderMark, gzipMagic = "\ufeff", "\x1f\x8b" // what a text and a gzip file (RFC 1952) may begin with

// compression are the codings of bodies that are compressed (RFC 9110, section 8.4.1).
var compression = regexp.MustCompile(`(?i)\b(?:gzip|compress|deflate|br|zstd)\b`)

// unreadable returns why a body did not arrive, or could not be stored. The error of a broken connection stays as it
// is: the client is gone.
func unreadable(err error) error {
	tooLarge, isTooLarge := errors.AsType[*http.MaxBytesError](err)
	timeout, isNet := errors.AsType[net.Error](err)
	switch {
	case isGone(err), refusal(err) != ErrUnexpected:
		return err
	case isTooLarge:
		return newError("body_too_large", "The request body is larger than %d MiB", tooLarge.Limit>>20)
	case isNet && timeout.Timeout():
		return errTooSlow
	default:
		return newError("body_incomplete", "The request body could not be read to its end")
	}
}

// values returns the values of a new user that an object has. Unknown keys are ignored, and so are an id and a time.
func (o object) values(fields models.Fields) (values models.Values, err error) {
	for i, value := range o.find(fields) {
		if value != nil && err == nil {
			err = set(&values, fields[i], value)
		}
	}
	return values, err
}

// set gives a field a value of JSON, or none if nothing was sent.
func set(values *models.Values, field *models.Field, sent []byte) error {
	switch {
	case sent == nil || sent[0] == 'n':
		values.SetNull(field)
	case sent[0] == '"':
		values.Set(field, decodeText(sent))
	case field.Required:
		return newError("field_invalid", "The field %s must be a string, not %s", field.Name, kind(sent))
	default:
		return newError("field_invalid", "%s must be text or null", field.Name)
	}
	return nil
}

// lacking returns the names of the required fields that a user lacks.
func lacking(fields models.Fields, user *models.NewUser) (names []string) {
	for _, field := range fields {
		if field.Required && *field.Value(user) == "" {
			names = append(names, field.Name)
		}
	}
	return names
}

// object is the text of one valid JSON object. Its fields are found in the text each time and not kept in a map: that
// is faster for bodies as short as a user's, and a body with a million fields takes no more memory than its text.
type object []byte

const space = " \t\r\n" // in JSON

// parseObject checks that a text is exactly one JSON object. The client sees its errors. A blank text and null count as
// an object without fields: the caller reports which fields are missing.
func parseObject(text []byte) (object, error) {
	whole := bytes.TrimPrefix(text, []byte(byteOrderMark))
	text = bytes.Trim(whole, space)
	switch {
	case len(text) == 0 || string(text) == "null":
		return object("{}"), nil
	case !utf8.Valid(text):
		return nil, newError("body_invalid", "The request body is not UTF-8 text")
	case !json.Valid(text):
		syntax, _ := errors.AsType[*json.SyntaxError](json.Unmarshal(whole, new(json.RawMessage)))
		return nil, newError("body_invalid", "The request body is not valid JSON: see byte %d", syntax.Offset)
	case text[0] != '{':
		return nil, newError("body_invalid", "The request body must be a JSON object, not %s", kind(text))
	case bytes.IndexByte(text, '\\') >= 0 && bytes.IndexByte(escape.ReplaceAll(text, nil), '\\') >= 0:
		return nil, newError("body_invalid", `The request body has half of a character: \ud800 to \udfff must come in pairs`)
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
func (o object) fields() iter.Seq2[string, []byte] {
	return func(yield func(name string, value []byte) bool) {
		for at := 0; o[at] != '}'; { // at the brace or comma before a field
			colon := partEnd(o, at+1)
			if o[colon] == '}' { // no field
				return
			}
			end := partEnd(o, colon+1)
			if !yield(decodeText(bytes.Trim(o[at+1:colon], space)), bytes.Trim(o[colon+1:end], space)) {
				return
			}
			at = end
		}
	}
}

// find returns the value of each field of a user, or nil if it was not sent.
func (o object) find(fields models.Fields) [][]byte {
	found := make([][]byte, len(fields))
	for name, value := range o.fields() {
		if at := slices.IndexFunc(fields, func(field *models.Field) bool { return field.Name == name }); at >= 0 {
			found[at] = value
		}
	}
	return found
}

// decodeText decodes a string.
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

// escape is an escape of a whole character, if need be with the escape of its other half behind it. encoding/json reads
// an escape of half a character as U+FFFD, so two different emails would become the same.
var escape = regexp.MustCompile(`\\(?:[^u]|u[^dD]|u[dD][0-7]|u[dD][89abAB]..\\u[dD][c-fC-F])`)
