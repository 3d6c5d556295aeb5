package controllers

import (
	"cmp"
	"net/http"

	"github.com/gin-gonic/gin"
)

// Caller is who sent a request, as far as its keys say.
type Caller struct {
	Key    string // the name of its key, if that has one
	Person string // whom a proxy names, whose key that is; "" for a program
	Access string // "full" or "read"; "" where no key is valid, or none is needed
}

// CallerKey names the [Caller] in the context of a request. Nobody in particular is there where no key is needed.
const CallerKey = "caller"

// CallerOf returns who sent a request.
func CallerOf(c *gin.Context) Caller {
	caller, _ := c.Value(CallerKey).(Caller)
	return caller
}

// KeyName returns the name of the key, or of the setting that has it.
func (c Caller) KeyName() string {
	if c.Access == "read" {
		return cmp.Or(c.Key, "API_READ_KEY")
	}
	return cmp.Or(c.Key, "API_KEY")
}

// Author returns what the changes of the caller are recorded under, or "" where no key is needed.
func (c Caller) Author() string {
	switch {
	case c.Access == "":
		return ""
	case c.Person != "":
		return "person:" + c.Person
	default:
		return "key:" + c.KeyName()
	}
}

// RefuseWrite returns why the caller cannot write.
func (c Caller) RefuseWrite() *Error {
	if c.Person != "" {
		return NewError("key_read_only", "%s can only read", c.Person)
	}
	return ErrReadKey
}

// Me handles GET and HEAD /api/me: 200, who sent the request and what it may do; or 400.
func Me(c *gin.Context) error {
	if c.Request.URL.RawQuery != "" {
		return NewError("parameter_unknown", "Unknown parameter: this request has none")
	}
	me := struct {
		Person string `json:"person,omitempty"`
		Key    string `json:"key,omitempty"`
		Access string `json:"access"`
	}{Access: "full"}
	if caller := CallerOf(c); caller.Person != "" {
		me.Person, me.Access = caller.Person, caller.Access
	} else if caller.Access != "" {
		me.Key, me.Access = caller.KeyName(), caller.Access
	}
	c.Header("Cache-Control", "no-store")
	return SendValue(c, http.StatusOK, contentType, me)
}
