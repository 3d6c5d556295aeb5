package controllers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/gin-gonic/gin"

	"users-api/models"
)

// Error is an error that the client sees, with its HTTP status. Its JSON form is the error object of the specification,
// section 7.
type Error struct {
	Status  int    `json:"-"`
	Message string `json:"error"`
	tag     string // the current entity tag of the user, if that is the reason
	refusedFile
}

func (e *Error) Error() string { return e.Message }

func newError(status int, format string, values ...any) *Error {
	return &Error{Status: status, Message: fmt.Sprintf(format, values...)}
}

func badRequest(format string, values ...any) *Error {
	return newError(http.StatusBadRequest, format, values...)
}

// The errors that do not depend on the request.
var (
	errFixed      = badRequest("id and created_at cannot be changed")
	errNoUser     = newError(http.StatusNotFound, "User not found")
	errTooSlow    = newError(http.StatusRequestTimeout, "The request body did not arrive in time")
	errEmailUsed  = newError(http.StatusConflict, "Email is already used by another user")
	ErrNoPath     = newError(http.StatusNotFound, "Not found")
	ErrNoMethod   = newError(http.StatusMethodNotAllowed, "Method not allowed")
	ErrCrossSite  = newError(http.StatusForbidden, "Requests from a browser on another site are refused")
	ErrNoKey      = newError(http.StatusUnauthorized, "An API key is needed")
	ErrWrongKey   = newError(http.StatusUnauthorized, "The API key is not valid")
	ErrReadKey    = newError(http.StatusForbidden, "This API key can only read")
	ErrUnexpected = newError(http.StatusInternalServerError, "Internal server error")
	ErrBusy       = newError(http.StatusServiceUnavailable,
		"Too many large request bodies are arriving at once: send it again in a few seconds")
	errNoFeed     = newError(http.StatusNotFound, `Changes are not recorded: run "users-api changes on"`)
	errCursorGone = newError(http.StatusGone,
		"These changes are no longer there: export all users again, and go on from its Changes-Cursor")
	errWaiting = newError(http.StatusServiceUnavailable, "Too many clients wait for changes: try again in a few seconds")
	errNoRoom  = newError(http.StatusServiceUnavailable,
		"Exports and imports under way take all the disk space that they may: try again later")
	ErrBusyImports = newError(http.StatusServiceUnavailable,
		"Too many files are being imported at once: send it again later")
)

func errRequired(fields models.Fields) *Error {
	names := join(fields.RequiredNames(), "and")
	return badRequest("%s%s are required", strings.ToUpper(names[:1]), names[1:])
}

// WrongHost returns the error for a request to a host that this service does not accept.
func WrongHost(host string) *Error {
	return newError(http.StatusMisdirectedRequest, `This service does not answer for the host "%s"`, shorten(host))
}

// RetryAfter is after how many seconds a client that got 503 should try again.
const RetryAfter = "5"

// statusClientGone is what the log shows for a request whose client went away before the response. It is never sent.
const statusClientGone = 499

// Handle turns a handler that returns an error into one of Gin's. Errors become responses only here, and stay in the
// Gin context for the log. If the first byte has been sent, or the client is gone, Handle cuts the connection off
// instead, so that a cut list never looks complete.
func Handle(handler func(*gin.Context) error) gin.HandlerFunc {
	return func(c *gin.Context) {
		err := handler(c)
		if err == nil {
			return
		}
		_ = c.Error(err)
		switch {
		case c.Writer.Written():
		case isGone(err):
			c.Status(statusClientGone)
		default:
			Refuse(c, refusal(err))
			return
		}
		panic(http.ErrAbortHandler)
	}
}

// isGone reports whether an error means that no client is waiting for a response any more.
func isGone(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, net.ErrClosed)
}

// problem is an error as RFC 9457 describes it.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	refusedFile
}

// Refuse ends the request with the error object, or with a problem if the client asks for one. Only a problem sets
// Vary: it does no harm if a cache sends an error object to a client that prefers a problem.
func Refuse(c *gin.Context, refusal *Error) {
	c.Abort()
	header := c.Writer.Header()
	for _, name := range []string{"Changes-Cursor", "Content-Disposition", "Link", "X-Total-Count"} {
		header.Del(name) // they belong to the response that failed
	}
	if header.Get("Cache-Control") != keptPrivate {
		header.Del("Cache-Control")
	}
	c.Header("ETag", refusal.tag) // removes it if there is none
	if refusal.Status == http.StatusServiceUnavailable {
		c.Header("Retry-After", RetryAfter)
	}
	if !wantsProblem(c) {
		_ = sendValue(c, refusal.Status, contentType, refusal)
		return
	}
	header.Add("Vary", "Accept")
	status, title := refusal.Status, http.StatusText(refusal.Status)
	_ = sendValue(c, status, problemType, problem{"about:blank", title, status, refusal.Message, refusal.refusedFile})
}

// refusal returns the error that the client sees: the storage engine's own text if the error comes from storage
// (specification, section 7), and never Go's.
func refusal(err error) *Error {
	if refusal, ok := errors.AsType[*Error](err); ok {
		return refusal
	}
	switch {
	case errors.Is(err, models.ErrNotFound):
		return errNoUser
	case errors.Is(err, models.ErrNoRoom):
		return errNoRoom
	case errors.Is(err, models.ErrNoFeed):
		return errNoFeed
	case errors.Is(err, models.ErrCursorGone):
		return errCursorGone
	}
	if failure, ok := errors.AsType[*models.StorageError](err); ok {
		return newError(http.StatusInternalServerError, "%s", failure.Text)
	}
	return ErrUnexpected
}

func isDuplicate(err error) bool {
	failure, ok := errors.AsType[*models.StorageError](err)
	return ok && failure.Duplicate
}
