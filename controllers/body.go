package controllers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"unicode/utf8"

	"github.com/gin-gonic/gin/binding"
)

// oneObject binds a request body that is exactly one JSON object. Gin's own JSON binding would take text after the
// object, and its errors speak of Go. What a type requires is checked by Gin's validator.
type oneObject struct{}

var _ binding.Binding = oneObject{}

func (oneObject) Name() string { return "one JSON object" }

// Bind reads the body into a pointer. Its errors are for the client.
func (oneObject) Bind(request *http.Request, into any) error {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return unreadable(err)
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return errRequired
	}
	if !utf8.Valid(body) {
		return badRequest("The request body is not UTF-8 text")
	}
	if err := json.Unmarshal(body, into); err != nil {
		return malformed(err)
	}
	if binding.Validator.ValidateStruct(into) != nil {
		return errRequired
	}
	return nil
}

func badRequest(format string, values ...any) *Error {
	return &Error{http.StatusBadRequest, fmt.Sprintf(format, values...)}
}

// unreadable says why a body did not arrive.
func unreadable(err error) error {
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return errTooLarge
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return errTooSlow
	}
	return badRequest("The request body could not be read to its end")
}

// malformed says in the client's words why a text is not the JSON object that is expected.
func malformed(err error) error {
	if wrongType, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if wrongType.Field == "" {
			return badRequest("The request body must be a JSON object, not %s", kind(wrongType))
		}
		return badRequest("The field %s must be a string, not %s", wrongType.Field, kind(wrongType))
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return badRequest("The request body is not valid JSON: see byte %d", syntax.Offset)
	}
	return badRequest("The request body is not valid JSON")
}

// kind returns the sort of JSON value that was found, with its article.
func kind(found *json.UnmarshalTypeError) string {
	switch found.Value {
	case "array", "object":
		return "an " + found.Value
	case "bool":
		return "true or false"
	default: // "string", or "number" with its digits
		return "a " + found.Value
	}
}
