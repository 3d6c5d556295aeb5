package routes

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
	"time"

	"github.com/gin-gonic/gin"

	"users-api/controllers"
	"users-api/models"
)

// refuseAll answers every request with the same refusal.
func refuseAll(refusal *controllers.Error) gin.HandlerFunc {
	return func(c *gin.Context) { controllers.Refuse(c, refusal) }
}

// log gives each request an id, which is answered as X-Request-Id, and writes one line when it is over. The line has
// the route and not the path: a path may hold anything, a user's email too. /health is not logged.
func log(logger *slog.Logger) gin.HandlerFunc {
	return func(c *gin.Context) {
		start := time.Now()
		id := requestID(c.GetHeader("X-Request-Id"))
		c.Header("X-Request-Id", id)
		defer func() { // a handler that breaks the connection off panics
			if c.FullPath() == "/health" {
				return
			}
			attributes := append(make([]slog.Attr, 0, 8),
				slog.String("method", c.Request.Method),
				slog.String("route", c.FullPath()),
				slog.Int("status", c.Writer.Status()),
				slog.Duration("duration", time.Since(start)),
				slog.Int("bytes", max(c.Writer.Size(), 0)),
				slog.String("request_id", id))
			logger.LogAttrs(c.Request.Context(), slog.LevelInfo, "request", append(attributes, cause(c)...)...)
		}()
		c.Next()
	}
}

// cause describes the error that was answered without its text, which may quote a user: storage's code and its
// meaning, or the type of an error that nobody foresaw.
func cause(c *gin.Context) []slog.Attr {
	if c.Writer.Status() < http.StatusInternalServerError || len(c.Errors) == 0 {
		return nil
	}
	err := c.Errors.Last().Err
	if code, meaning := models.Code(err); code != 0 {
		return []slog.Attr{slog.Int("storage_code", code), slog.String("storage_error", meaning)}
	}
	if models.IsStorage(err) {
		return []slog.Attr{slog.String("storage_error", err.Error())}
	}
	return []slog.Attr{slog.String("error_type", fmt.Sprintf("%T", err))}
}

// shortAndPlain is what a client's own request id must be to be taken over: it goes into the log as it is.
var shortAndPlain = regexp.MustCompile(`^[0-9A-Za-z._-]{1,64}$`)

func requestID(sent string) string {
	if sent != "" && shortAndPlain.MatchString(sent) {
		return sent
	}
	return rand.Text()
}

// recoverPanic answers 500 to a request whose handler panicked, and logs the stack. After the first byte the
// connection is broken off, so that no cut answer looks whole.
func recoverPanic(logger *slog.Logger) gin.HandlerFunc {
	return func(c *gin.Context) {
		defer func() {
			cause := recover()
			if cause == nil {
				return
			}
			if cause != http.ErrAbortHandler { //nolint:errorlint // net/http compares it the same way
				logger.Error("panic", "type", fmt.Sprintf("%T", cause), "stack", string(debug.Stack()))
			}
			if cause == http.ErrAbortHandler || c.Writer.Written() {
				panic(http.ErrAbortHandler)
			}
			controllers.Refuse(c, controllers.ErrUnexpected)
		}()
		c.Next()
	}
}

// secure refuses writes that a browser sends for another site, and keeps browsers from guessing content types.
// Programs send neither Origin nor Sec-Fetch-Site and are untouched.
func secure() gin.HandlerFunc {
	protection := http.NewCrossOriginProtection()
	return func(c *gin.Context) {
		c.Header("X-Content-Type-Options", "nosniff")
		if protection.Check(c.Request) != nil {
			controllers.Refuse(c, controllers.ErrCrossSite)
		}
	}
}

// hurryBody bounds how long a request body may take to arrive. It holds for what a handler leaves unread too, which
// net/http reads before the next request.
func hurryBody() gin.HandlerFunc {
	return func(c *gin.Context) {
		if c.Request.ContentLength != 0 { // known, or -1 for chunks
			_ = http.NewResponseController(c.Writer).SetReadDeadline(time.Now().Add(bodyTime))
		}
	}
}
