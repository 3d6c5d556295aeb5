package routes

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/gin-gonic/gin"

	"users-api/controllers"
)

// refuseAll answers every request with the same refusal.
func refuseAll(refusal *controllers.Error) gin.HandlerFunc {
	return func(c *gin.Context) { controllers.Refuse(c, refusal) }
}

// errPanic is what the answer of a handler that panicked is broken off by.
var errPanic = errors.New("panic")

// cut is why an answer was broken off, or never begun because nobody was there to read it.
type cut struct{ cause error }

func (c cut) Error() string { return "cut: " + c.cause.Error() }

// recoverPanic answers 500 to a request whose handler panicked, and logs the stack. After the first byte the
// connection is reset: an HTTP/1.0 client would take a closed one for the end of the answer.
func recoverPanic(logger *slog.Logger) gin.HandlerFunc {
	return func(c *gin.Context) {
		defer func() {
			cause := recover()
			if cause == nil {
				return
			}
			abort := cause == any(http.ErrAbortHandler)
			if !abort {
				logger.Error("panic", "type", fmt.Sprintf("%T", cause), "stack", string(debug.Stack()))
				_ = c.Error(errPanic)
			}
			if abort || c.Writer.Written() {
				_ = c.Error(cut{c.Errors.Last().Err})
				resetLater(c.Request.Context())
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
