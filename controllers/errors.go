package controllers

import (
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"users-api/models"
)

// Error is a refusal in the client's words, with its HTTP status. Its JSON form is the error object of the
// specification, section 7.
type Error struct {
	Status  int    `json:"-"`
	Message string `json:"error"`
}

func (e *Error) Error() string { return e.Message }

// The refusals that do not depend on the request.
var (
	errRequired   = &Error{http.StatusBadRequest, "Name and email are required"}
	errNoUser     = &Error{http.StatusNotFound, "User not found"}
	errTooSlow    = &Error{http.StatusRequestTimeout, "The request body did not arrive in time"}
	errTooLarge   = &Error{http.StatusRequestEntityTooLarge, "The request body is larger than 1 MiB"}
	ErrNoPath     = &Error{http.StatusNotFound, "Not found"}
	ErrNoMethod   = &Error{http.StatusMethodNotAllowed, "Method not allowed"}
	ErrCrossSite  = &Error{http.StatusForbidden, "Requests from a browser on another site are refused"}
	ErrUnexpected = &Error{http.StatusInternalServerError, "Internal server error"}
)

// statusClientGone is what the log shows for a request whose client went away before the answer; nobody reads it.
const statusClientGone = 499

// Handle turns a handler that returns an error into one of Gin's. The error becomes the answer, here and nowhere
// else, and stays in the Gin context for the line in the log.
func Handle(handler func(*gin.Context) error) gin.HandlerFunc {
	return func(c *gin.Context) {
		err := handler(c)
		if err == nil {
			return
		}
		_ = c.Error(err)
		if c.Request.Context().Err() != nil {
			c.AbortWithStatus(statusClientGone)
			return
		}
		Refuse(c, refusal(err))
	}
}

// Refuse ends the request with the error object.
func Refuse(c *gin.Context, refusal *Error) {
	c.Abort()
	answer(c, refusal.Status, refusal)
}

// refusal returns what the client is told of an error: the storage engine's own text where it comes from there
// (specification, section 7), and never Go's.
func refusal(err error) *Error {
	if refusal, ok := errors.AsType[*Error](err); ok {
		return refusal
	}
	if errors.Is(err, models.ErrNotFound) {
		return errNoUser
	}
	if models.IsStorage(err) {
		return &Error{http.StatusInternalServerError, err.Error()}
	}
	return ErrUnexpected
}
