package controllers

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/gin-gonic/gin/binding"

	"users-api/models"
)

// oneObject binds a request body that is exactly one JSON object to a [recipient]. Gin's own JSON binding would accept
// text after the object and keys in any letter case, and its errors mention Go types.
type oneObject struct{}

var _ binding.BindingBody = oneObject{}

// A recipient takes the fields of an object that it knows, and refuses what it does not accept. The client sees its
// errors.
type recipient interface {
	take(sent object) error
}

func (oneObject) Name() string { return "one JSON object" }

// Bind reads the body of a request into a recipient.
func (o oneObject) Bind(request *http.Request, into any) error {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return unreadable(err)
	}
	return o.BindBody(body, into)
}

// BindBody binds a text that has already been read.
func (oneObject) BindBody(text []byte, into any) error {
	sent, err := parseObject(text)
	if err != nil {
		return err
	}
	return into.(recipient).take(sent)
}

// unreadable returns why a body did not arrive. The error of a broken connection is returned unchanged: the client is
// gone.
func unreadable(err error) error {
	if refusal, ok := errors.AsType[*Error](err); ok {
		return refusal
	}
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &Error{
			Status:  http.StatusRequestEntityTooLarge,
			Message: fmt.Sprintf("The request body is larger than %d MiB", tooLarge.Limit>>20),
		}
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return errTooSlow
	}
	if isGone(err) {
		return err
	}
	return badRequest("The request body could not be read to its end")
}

// creation is the body of POST /api/users. Unknown keys are ignored, and so are an id and a time.
type creation struct{ models.NewUser }

func (c *creation) take(sent object) error {
	var name, email []byte
	for field, value := range sent.fields() {
		switch string(field) {
		case "name":
			name = value
		case "email":
			email = value
		}
	}
	var err error
	if c.Name, err = text("name", name); err != nil {
		return err
	}
	if c.Email, err = text("email", email); err != nil {
		return err
	}
	if binding.Validator.ValidateStruct(&c.NewUser) != nil {
		return errRequired
	}
	return nil
}

// text returns the string value of a field, or "" if it is missing or null.
func text(field string, value []byte) (string, error) {
	if value == nil || value[0] == 'n' {
		return "", nil
	}
	if value[0] != '"' {
		return "", badRequest("The field %s must be a string, not %s", field, kind(value))
	}
	return decodeText(value), nil
}
