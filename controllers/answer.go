package controllers

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"
)

const (
	contentType = "application/json; charset=utf-8"
	problemType = "application/problem+json"
)

// LoggedWrite names, in the context of a request, the [slog.Attr] that says in its log line what it has written: the id of
// a user, or the counts of an import. Never a name or an email.
const LoggedWrite = "written"

// Handle turns a handler that returns an error into one of Gin's. Errors become responses only here, and stay in the
// Gin context for the log. If the first byte has been sent, or the client is gone, Handle cuts the connection off
// instead, so that a cut list never looks complete.
func Handle(handler func(*gin.Context) error) gin.HandlerFunc {
	return func(c *gin.Context) {
		var err error = errBatchFull
		if c.Request.Context().Value(batchIsFull{}) == nil {
			err = handler(c)
		}
		if err == nil {
			return
		}
		_ = c.Error(err)
		switch {
		case c.Writer.Written():
		case isGone(err):
			c.Status(statusClientGone)
		default:
			Refuse(c, shownError(err))
			return
		}
		panic(http.ErrAbortHandler)
	}
}

func send(c *gin.Context, status int, contentType string, body []byte) error {
	return sendFrom(c, status, contentType, bytes.NewReader(body), int64(len(body)))
}

// sendFrom sends a body of some length. It sets the length first, so that a client notices a cut response. net/http
// would set it for short bodies only.
func sendFrom(c *gin.Context, status int, contentType string, body io.Reader, length int64) error {
	c.Header("Content-Type", contentType)
	c.Header("Content-Length", strconv.FormatInt(length, 10))
	c.Status(status)
	if c.Request.Method == http.MethodHead {
		c.Writer.WriteHeaderNow() // Gin would send its own response to an unknown path
		return nil
	}
	_, err := io.Copy(c.Writer, body)
	return err
}

// SendValue sends a value as JSON.
func SendValue(c *gin.Context, status int, contentType string, value any) error {
	return send(c, status, contentType, ToJSON(value))
}

// ToJSON returns a value as JSON: not HTML-escaped, so that <, > and & come back as they were sent, and without a
// trailing newline. Gin's JSON escapes, and its PureJSON adds a newline.
func ToJSON(value any) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // all that is sent is made of texts, numbers and truth values
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}

// KeptPrivate is the Cache-Control of what only the requesting client may keep, and must revalidate each time.
const KeptPrivate = "private, no-cache"

// Revalidate lets a cache keep a response if it revalidates it each time.
func Revalidate(c *gin.Context) {
	if c.Writer.Header().Get("Cache-Control") != KeptPrivate {
		c.Header("Cache-Control", "no-cache")
	}
}

// entityTag returns the strong entity tag of a user, made from exactly the bytes of its response.
func entityTag(user []byte) string {
	sum := sha256.Sum256(user)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// notModified sets the entity tag of what was requested, and responds with 304 if the client already has it (RFC 9110,
// section 13.1.2). The comparison is weak: bytes with the same meaning need not be sent again.
func notModified(c *gin.Context, tag string) bool {
	c.Header("ETag", tag)
	known := elements(c.Request.Header.Values("If-None-Match"))
	if !isAny(known) && !hasLike(known, tag) {
		return false
	}
	c.Status(http.StatusNotModified)
	return true
}

// isAny reports whether entity tags are the wildcard, which stands alone (RFC 9110, section 13.1.1).
func isAny(tags []string) bool { return slices.Equal(tags, []string{"*"}) }

// hasLike reports whether a client has sent a tag, as it is or as a proxy that compresses makes it: weak, as nginx does,
// or with an end as in "…-gzip", as Apache and Caddy do.
func hasLike(sent []string, tag string) bool {
	return slices.ContainsFunc(sent, func(candidate string) bool {
		end, found := strings.CutPrefix(strings.TrimPrefix(candidate, "W/"), strings.TrimSuffix(tag, `"`))
		return found && (end == `"` || strings.HasPrefix(end, "-"))
	})
}

// wantsProblem reports whether a client asks for errors as problems (RFC 9457). */* does not count: clients that do not
// know problems send it.
func wantsProblem(c *gin.Context) bool {
	return slices.ContainsFunc(elements(c.Request.Header.Values("Accept")), func(element string) bool {
		is, parameters, err := mime.ParseMediaType(element)
		quality, _ := strconv.ParseFloat(cmp.Or(parameters["q"], "1"), 64) // 0 if it is no number
		return err == nil && is == problemType && quality > 0
	})
}

// element is one of a list in a header: a comma in quotes belongs to it, also in those that never end (RFC 9110, sections
// 5.6.1 and 8.8.3).
var element = regexp.MustCompile(`(?:[^,"]|"[^"]*"?)+`)

// elements returns the elements of header lines, which count as one list.
func elements(lines []string) []string {
	all := element.FindAllString(strings.Join(lines, ","), -1)
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return all
}
