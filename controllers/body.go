package controllers

import (
	"errors"
	"io"
	"net"
	"net/http"

	"users-api/models"
)

// oneObject binds a request body that is exactly one JSON object to a [recipient]. Gin's own JSON binding would accept
// text after the object and keys in any letter case, and its errors mention Go types.
type oneObject struct{}

// A recipient takes the fields of an object that it knows, and refuses what it does not accept. The client sees its
// errors.
type recipient interface {
	take(sent object) error
}

func (oneObject) Name() string { return "one JSON object" }

func (o oneObject) Bind(request *http.Request, into any) error {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return unreadable(err)
	}
	return o.BindBody(body, into)
}

func (oneObject) BindBody(text []byte, into any) error {
	sent, err := parseObject(text)
	if err != nil {
		return err
	}
	return into.(recipient).take(sent)
}

// unreadable returns why a body did not arrive. The error of a broken connection stays as it is: the client is gone.
func unreadable(err error) error {
	_, isRefusal := errors.AsType[*Error](err)
	tooLarge, isTooLarge := errors.AsType[*http.MaxBytesError](err)
	timeout, isNet := errors.AsType[net.Error](err)
	switch {
	case isRefusal, isGone(err):
		return err
	case isTooLarge:
		return newError(bodyTooLarge, "The request body is larger than %d MiB", tooLarge.Limit>>20)
	case isNet && timeout.Timeout():
		return errTooSlow
	default:
		return newError(bodyIncomplete, "The request body could not be read to its end")
	}
}

// creation is the body of POST /api/users, or a line of a file. Unknown keys are ignored, and so are an id and a time.
type creation struct {
	models.Values
	fields models.Fields
}

func (c *creation) take(sent object) error {
	for i, value := range sent.find(c.fields) {
		if value == nil {
			continue
		}
		if err := set(&c.Values, c.fields[i], value); err != nil {
			return err
		}
	}
	return checkRequired(c.fields, &c.User)
}

// set gives a field a value of JSON, or none if nothing was sent.
func set(values *models.Values, field *models.Field, sent []byte) error {
	switch {
	case sent == nil || sent[0] == 'n':
		values.SetNull(field)
	case sent[0] == '"':
		values.Set(field, decodeText(sent))
	case field.Required:
		return newError(fieldInvalid, "The field %s must be a string, not %s", field.Name, kind(sent))
	default:
		return newError(fieldInvalid, "%s must be text or null", field.Name)
	}
	return nil
}

func checkRequired(fields models.Fields, user *models.NewUser) error {
	for _, field := range fields {
		if lacks(user, field) {
			return errRequired(fields)
		}
	}
	return nil
}

func lacks(user *models.NewUser, field *models.Field) bool {
	return field.Required && *field.Value(user) == ""
}
