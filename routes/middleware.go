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

func refuseAll(refusal *controllers.Error) gin.HandlerFunc {
	return func(c *gin.Context) { controllers.Refuse(c, refusal) }
}

var errPanic = errors.New("panic")

// cut is why a response was cut off, or never started because the client was gone.
type cut struct{ cause error }

func (c cut) Error() string { return "cut: " + c.cause.Error() }

// recoverPanic responds with 500 if a handler panicked, and logs the stack. After the first byte it resets the
// connection instead: an HTTP/1.0 client would take a closed connection for the end of the response.
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

// secure refuses writes that a browser sends on behalf of another site, and keeps browsers from guessing content types.
// Programs send neither Origin nor Sec-Fetch-Site and are not affected.
func secure() gin.HandlerFunc {
	protection := http.NewCrossOriginProtection()
	return func(c *gin.Context) {
		c.Header("X-Content-Type-Options", "nosniff")
		if protection.Check(c.Request) != nil {
			controllers.Refuse(c, controllers.ErrCrossSite)
		}
	}
}
