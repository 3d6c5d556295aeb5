package controllers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"

	"github.com/gin-gonic/gin"

	"users-api/models"
)

// Error is an error that the client sees, with its HTTP status. Its JSON form is the error object of the specification,
// section 7.
type Error struct {
	Message string `json:"error"`
	code    string
	tag     string // the current entity tag of the user, if that is the reason
	refusedFile
}

func (e *Error) Error() string { return e.Message }

// Status returns the HTTP status of the error.
func (e *Error) Status() int { return Codes[e.code] }

// IsOfKey reports whether a key that was sent is not valid.
func (e *Error) IsOfKey() bool { return e.code == "key_invalid" }

// NewError returns an error with one of the [Codes].
func NewError(code, format string, values ...any) *Error {
	return &Error{Message: fmt.Sprintf(format, values...), code: code}
}

// Codes are the words by which a program recognizes an error, and the status of each. Sentences are for people and may
// change. Only problems have the code. docs/errors.md and web/openapi.yaml say what to do about each.
var Codes = map[string]int{
	"body_incomplete":    http.StatusBadRequest,
	"body_invalid":       http.StatusBadRequest,
	"field_invalid":      http.StatusBadRequest,
	"field_missing":      http.StatusBadRequest,
	"field_read_only":    http.StatusBadRequest,
	"field_unknown":      http.StatusBadRequest,
	"file_invalid":       http.StatusBadRequest,
	"filter_invalid":     http.StatusBadRequest,
	"parameter_invalid":  http.StatusBadRequest,
	"parameter_unknown":  http.StatusBadRequest,
	"key_invalid":        http.StatusUnauthorized,
	"key_missing":        http.StatusUnauthorized,
	"no_person":          http.StatusUnauthorized,
	"cross_site":         http.StatusForbidden,
	"key_read_only":      http.StatusForbidden,
	"changes_off":        http.StatusNotFound,
	"path_not_found":     http.StatusNotFound,
	"scim_off":           http.StatusNotFound,
	"user_not_found":     http.StatusNotFound,
	"not_deleted":        http.StatusNotFound,
	"method_not_allowed": http.StatusMethodNotAllowed,
	"body_too_slow":      http.StatusRequestTimeout,
	"email_not_unique":   http.StatusConflict,
	"email_used":         http.StatusConflict,
	"user_exists":        http.StatusConflict,
	"value_used":         http.StatusConflict,
	"cursor_gone":        http.StatusGone,
	"changed_meanwhile":  http.StatusPreconditionFailed,
	"batch_full":         http.StatusRequestEntityTooLarge,
	"body_too_large":     http.StatusRequestEntityTooLarge,
	"form_refused":       http.StatusUnsupportedMediaType,
	"host_refused":       http.StatusMisdirectedRequest,
	"rows_refused":       http.StatusUnprocessableEntity,
	"too_many_deletions": http.StatusUnprocessableEntity,
	"internal_error":     http.StatusInternalServerError,
	"outcome_unknown":    http.StatusInternalServerError,
	"storage_failed":     http.StatusInternalServerError,
	"groups_refused":     http.StatusNotImplemented,
	"search_refused":     http.StatusNotImplemented,
	"batch_too_slow":     http.StatusServiceUnavailable,
	"no_room":            http.StatusServiceUnavailable,
	"too_many_bodies":    http.StatusServiceUnavailable,
	"too_many_imports":   http.StatusServiceUnavailable,
	"too_many_waiting":   http.StatusServiceUnavailable,
}

// The errors that do not depend on the request.
var (
	errTooSlow    = NewError("body_too_slow", "The request body did not arrive in time")
	errNobody     = NewError("changed_meanwhile", "No user has this email, and If-Match only replaces one")
	ErrNoPath     = NewError("path_not_found", "Not found")
	ErrNoMethod   = NewError("method_not_allowed", "Method not allowed")
	ErrCrossSite  = NewError("cross_site", "Requests from a browser on another site are refused")
	ErrNoKey      = NewError("key_missing", "An API key is needed")
	ErrWrongKey   = NewError("key_invalid", "The API key is not valid")
	ErrNoChanges  = NewError("changes_off", "Changes are not recorded: CHANGES_KEEP is 0")
	ErrReadKey    = NewError("key_read_only", "This API key can only read")
	errHistory    = NewError("key_read_only", "Only a key with full access can see who changed what")
	ErrUnexpected = NewError("internal_error", "Internal server error")
	ErrBusy       = NewError("too_many_bodies",
		"Too many large request bodies are arriving at once: send it again in a few seconds")
	errWaiting     = NewError("too_many_waiting", "Too many clients wait for changes: try again in a few seconds")
	ErrBusyImports = NewError("too_many_imports",
		"Too many files are being imported at once: send it again later")

	// Of a request with a key in each of the two headers.
	ErrWrongBearer = NewError("key_invalid", "The API key in Authorization is not valid; there is another one in X-API-Key")
	ErrWrongHeader = NewError("key_invalid", "The API key in X-API-Key is not valid; there is another one in Authorization")
)

func errFixed(fields models.Fields) *Error {
	return NewError("field_read_only", "%s cannot be changed", join(append([]string{"id"}, fields.Times()...), "and"))
}

func errRequired(names []string) *Error {
	all, verb := join(names, "and"), "are"
	if len(names) == 1 {
		verb = "is"
	}
	return NewError("field_missing", "%s%s %s required", strings.ToUpper(all[:1]), all[1:], verb)
}

// RetryAfter is after how many seconds a client that got 503 should try again.
const RetryAfter = "5"

// statusClientGone is what the log shows for a request whose client went away before the response. It is never sent.
const statusClientGone = 499

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

// SCIMRoot is where the URL paths of SCIM begin, and SCIMType the content type of its responses.
const SCIMRoot, SCIMType = "/scim/v2", "application/scim+json"

// IsSCIM reports whether a URL path belongs to SCIM.
func IsSCIM(path string) bool { return path == SCIMRoot || strings.HasPrefix(path, SCIMRoot+"/") }

// scimErrors are the words of RFC 7644, section 3.12, by the codes of errors. Other errors have none.
var scimErrors = map[string]string{
	"body_invalid":      "invalidSyntax",
	"email_used":        "uniqueness",
	"field_invalid":     "invalidValue",
	"field_missing":     "invalidValue",
	"field_read_only":   "mutability",
	"field_unknown":     "invalidPath",
	"filter_invalid":    "invalidFilter",
	"parameter_invalid": "invalidValue",
}

// scimError is an error as RFC 7644, section 3.12, describes it.
type scimError struct {
	Schemas  []string `json:"schemas"`
	Status   string   `json:"status"`
	SCIMType string   `json:"scimType,omitempty"`
	Detail   string   `json:"detail"`
}

// Refuse ends the request with the error object, or with a problem if the client asks for one, or as SCIM does: the
// path decides, because middleware refuses before a handler runs. Only a problem sets Vary: it does no harm if a cache
// sends an error object to a client that prefers a problem.
func Refuse(c *gin.Context, refusal *Error) {
	c.Abort()
	header := c.Writer.Header()
	for _, name := range []string{"Changes-Cursor", "Content-Disposition", "Link", "X-Total-Count"} {
		header.Del(name) // they belong to the response that failed
	}
	if header.Get("Cache-Control") != KeptPrivate {
		header.Del("Cache-Control")
	}
	c.Header("ETag", refusal.tag) // removes it if there is none
	status := refusal.Status()
	if status == http.StatusServiceUnavailable {
		c.Header("Retry-After", RetryAfter)
	}
	switch {
	case IsSCIM(c.Request.URL.Path):
		_ = SendValue(c, status, SCIMType, scimError{[]string{"urn:ietf:params:scim:api:messages:2.0:Error"},
			strconv.Itoa(status), scimErrors[refusal.code], refusal.Message})
	case wantsProblem(c):
		header.Add("Vary", "Accept")
		_ = SendValue(c, status, problemType, problem{"about:blank", http.StatusText(status), status,
			refusal.Message, refusal.code, refusal.refusedFile})
	default:
		_ = SendValue(c, status, contentType, refusal)
	}
}

// shownError returns the error that the client sees: the storage engine's own text if the error comes from storage
// (specification, section 7), and never Go's.
func shownError(err error) *Error {
	own, isOwn := errors.AsType[*Error](err)
	refusal, isRefusal := errors.AsType[*models.Refusal](err)
	failure, isFailure := errors.AsType[*models.StorageError](err)
	switch {
	case isOwn:
		return own
	case isRefusal:
		return NewError(refusal.Code, "%s", refusal.Text)
	case !isFailure:
		return ErrUnexpected
	case failure == models.ErrBatchTooSlow:
		return NewError("batch_too_slow", "The batch took too long, and nothing was stored: send fewer requests in each")
	case failure.Unknown:
		return NewError("outcome_unknown", "%s", failure.Text)
	}
	return NewError("storage_failed", "%s", failure.Text)
}

// valueUsed returns the error of a write: 409 if another user has the email, or the value of another field of which a
// unique index allows each once.
func valueUsed(err error, fields models.Fields) error {
	failure, ok := errors.AsType[*models.StorageError](err)
	switch {
	case !ok:
	case failure.Duplicate:
		return models.ErrEmailUsed
	case fields.Find(failure.Column) != nil:
		return NewError("value_used", "%s is already used by another user", failure.Column)
	}
	return err
}

// join joins words as a sentence does: "name, email and phone".
func join(words []string, conjunction string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " " + conjunction + " " + words[last]
}

func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + more
}

// Shorten cuts a name from a client to a length that fits into a sentence.
func Shorten(name string) string {
	const most = 60
	if runes := []rune(name); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return name
}
