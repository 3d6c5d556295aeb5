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
	Message string `json:"error"`
	code    code
	tag     string // the current entity tag of the user, if that is the reason
	refusedFile
}

func (e *Error) Error() string { return e.Message }

// Status returns the HTTP status of the error.
func (e *Error) Status() int { return Codes[e.code].Status }

func newError(code code, format string, values ...any) *Error {
	return &Error{Message: fmt.Sprintf(format, values...), code: code}
}

// The errors that do not depend on the request.
var (
	errFixed      = newError(fieldReadOnly, "id and created_at cannot be changed")
	errNoUser     = newError(userNotFound, "User not found")
	errTooSlow    = newError(bodyTooSlow, "The request body did not arrive in time")
	errEmailUsed  = newError(emailUsed, "Email is already used by another user")
	errRepeated   = newError(emailUsed, "Email is already used by an earlier row of the file")
	ErrNoPath     = newError(pathNotFound, "Not found")
	ErrNoMethod   = newError(methodNotAllowed, "Method not allowed")
	ErrCrossSite  = newError(crossSite, "Requests from a browser on another site are refused")
	ErrNoKey      = newError(keyMissing, "An API key is needed")
	ErrWrongKey   = newError(keyInvalid, "The API key is not valid")
	ErrReadKey    = newError(keyReadOnly, "This API key can only read")
	ErrUnexpected = newError(internalError, "Internal server error")
	ErrBusy       = newError(tooManyBodies,
		"Too many large request bodies are arriving at once: send it again in a few seconds")
	errNoFeed     = newError(changesOff, `Changes are not recorded: run "users-api changes on"`)
	errCursorGone = newError(cursorGone,
		"These changes are no longer there: export all users again, and go on from its Changes-Cursor")
	errWaiting = newError(tooManyWaiting, "Too many clients wait for changes: try again in a few seconds")
	errNoRoom  = newError(noRoom,
		"Exports and imports under way take all the disk space that they may: try again later")
	ErrBusyImports = newError(tooManyImports,
		"Too many files are being imported at once: send it again later")
)

func errRequired(fields models.Fields) *Error {
	names := join(fields.RequiredNames(), "and")
	return newError(fieldMissing, "%s%s are required", strings.ToUpper(names[:1]), names[1:])
}

// WrongHost returns the error for a request to a host that this service does not accept.
func WrongHost(host string) *Error {
	return newError(hostRefused, `This service does not answer for the host "%s"`, shorten(host))
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
	Code   string `json:"code"`
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
	if refusal.Status() == http.StatusServiceUnavailable {
		c.Header("Retry-After", RetryAfter)
	}
	if !wantsProblem(c) {
		_ = sendValue(c, refusal.Status(), contentType, refusal)
		return
	}
	header.Add("Vary", "Accept")
	code := Codes[refusal.code]
	_ = sendValue(c, code.Status, problemType, problem{"about:blank", http.StatusText(code.Status), code.Status,
		refusal.Message, code.Word, refusal.refusedFile})
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
	failure, isStorages := errors.AsType[*models.StorageError](err)
	switch {
	case !isStorages:
		return ErrUnexpected
	case failure.Unknown:
		return newError(outcomeUnknown, "%s", failure.Text)
	}
	return newError(storageFailed, "%s", failure.Text)
}

func isDuplicate(err error) bool {
	failure, ok := errors.AsType[*models.StorageError](err)
	return ok && failure.Duplicate
}
