package controllers

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"iter"
	"net"
	"net/http"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"users-api/models"
)

// OneObject is a binding of Gin for a body that is exactly one JSON object. Gin's own binding of JSON would accept text
// after the object and keys in any letter case, and its errors mention Go types. A blank body and null count as an
// object without members: the caller reports what is missing.
type OneObject struct {
	what string // it is called in errors, if it is not the body of a request
}

// Name names the binding, as Gin asks.
func (OneObject) Name() string { return "object" }

// Bind binds the body of a request.
func (b OneObject) Bind(request *http.Request, into any) error {
	body, err := io.ReadAll(request.Body)
	switch {
	case err != nil:
		return unreadable(err)
	case bytes.HasPrefix(body, []byte(gzipMagic)), compression.MatchString(request.Header.Get("Content-Encoding")):
		return NewError("body_invalid", "The request body is compressed: send it uncompressed")
	}
	return b.BindBody(body, into)
}

// BindBody binds a text to a [json.Unmarshaler]. The client sees its errors.
func (b OneObject) BindBody(text []byte, into any) error {
	what := cmp.Or(b.what, "The request body")
	text = bytes.TrimPrefix(text, []byte(byteOrderMark))
	if len(bytes.Trim(text, space)) == 0 {
		text = []byte("null")
	}
	err := json.Unmarshal(text, into, allowDuplicates)
	refusal, isRefused := errors.AsType[*Error](err)
	syntax, isSyntax := errors.AsType[*jsontext.SyntacticError](err)
	switch kind := jsontext.Value(text).Kind(); {
	case isSyntax && !utf8.Valid(text):
		return NewError("body_invalid", "%s is not UTF-8 text", what)
	case isSyntax:
		return NewError("body_invalid", "%s is not valid JSON: see byte %d", what,
			min(syntax.ByteOffset+1, int64(len(text))))
	case kind != '{' && kind != 'n':
		return NewError("body_invalid", "%s must be a JSON object, not %s", what, Kinds[kind])
	case isRefused:
		return refusal // without the place in Go that was bound
	}
	return err
}

const byteOrderMark, gzipMagic = "\ufeff", "\x1f\x8b" // what a text and a gzip file (RFC 1952) may begin with

const space = " \t\r\n" // in JSON

// allowDuplicates lets a key be there twice. The last one counts.
var allowDuplicates = jsontext.AllowDuplicateNames(true)

// compression are the codings of bodies that are compressed (RFC 9110, section 8.4.1).
var compression = regexp.MustCompile(`(?i)\b(?:gzip|compress|deflate|br|zstd)\b`)

// unreadable returns why a body did not arrive, or could not be stored. The error of a broken connection stays as it
// is: the client is gone.
func unreadable(err error) error {
	tooLarge, isTooLarge := errors.AsType[*http.MaxBytesError](err)
	timeout, isNet := errors.AsType[net.Error](err)
	switch {
	case isGone(err), shownError(err) != ErrUnexpected:
		return err
	case isTooLarge:
		return NewError("body_too_large", "The request body is larger than %d MiB", tooLarge.Limit>>20)
	case isNet && timeout.Timeout():
		return errTooSlow
	default:
		return NewError("body_incomplete", "The request body could not be read to its end")
	}
}

// Members yields each member of a valid object in order, and none of null. A value is valid until the next one.
func Members(object jsontext.Value) iter.Seq2[string, jsontext.Value] {
	return func(yield func(string, jsontext.Value) bool) {
		in := jsontext.NewDecoder(bytes.NewBuffer(object), allowDuplicates)
		_, _ = in.ReadToken() // the brace
		for object.Kind() == '{' && in.PeekKind() != '}' {
			token, _ := in.ReadToken()
			key := token.String() // before the next read
			if value, err := in.ReadValue(); err != nil || !yield(key, value) {
				return
			}
		}
	}
}

// Kinds are the types of JSON values, with their articles.
var Kinds = map[jsontext.Kind]string{
	'{': "an object", '[': "an array", '"': "a string", '0': "a number",
	't': "true or false", 'f': "true or false", 'n': "null",
}

// sentUser is the part of a user that a client may set: never an id or a time.
type sentUser struct {
	models.Values
	fields models.Fields // those that a client may set
}

// UnmarshalJSON takes the fields of an object, and ignores its other keys. The last one of equal keys counts.
func (s *sentUser) UnmarshalJSON(object []byte) error {
	refused := make([]error, len(s.fields))
	for key, value := range Members(object) {
		if at := slices.IndexFunc(s.fields, func(field *models.Field) bool { return field.Name == key }); at >= 0 {
			refused[at] = set(&s.Values, s.fields[at], value)
		}
	}
	return cmp.Or(refused...)
}

// set gives a field a value of JSON.
func set(values *models.Values, field *models.Field, sent jsontext.Value) error {
	switch kind := sent.Kind(); {
	case kind == 'n':
		values.SetNull(field)
	case kind == '"':
		values.Set(field, Decoded(sent))
	case field.Type != nil:
		values.SetJSON(field, string(sent))
	case field.Required:
		return NewError("field_invalid", "The field %s must be a string, not %s", field.Name, Kinds[kind])
	default:
		return NewError("field_invalid", "%s must be text or null", field.Name)
	}
	return nil
}

// Decoded returns the text that a string of JSON stands for.
func Decoded(quoted jsontext.Value) string {
	text, _ := jsontext.AppendUnquote(nil, quoted) // it was read, so it is valid
	return string(text)
}

// lacking returns the names of the required fields that a user lacks.
func lacking(fields models.Fields, user *models.Profile) (names []string) {
	for _, field := range fields {
		if field.Required && *field.Value(user) == "" {
			names = append(names, field.Name)
		}
	}
	return names
}
