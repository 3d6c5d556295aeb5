package routes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"users-api/controllers"
	"users-api/models"
)

// observe gives each request an id, which it returns as X-Request-Id. When the request is over, it counts it, and
// writes one line: as an error if the service failed, and otherwise as information. The line has the route and not the
// path, because a path may contain anything, even the email of a user. /health is not logged.
func (s Service) observe(c *gin.Context) {
	start := time.Now()
	// A client's own id is used if it is short and plain, because it is logged unchanged. Ours must be unique but not
	// secret: crypto/rand takes three times as long.
	const plain = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz._-"
	id := c.GetHeader("X-Request-Id")
	if id == "" || len(id) > 64 || strings.Trim(id, plain) != "" {
		id = strconv.FormatUint(rand.Uint64(), 36)
	}
	c.Header("X-Request-Id", id)
	s.Metrics.inFlight.Inc()
	defer func() { // a handler that cuts the connection off panics
		took, route := time.Since(start), cmp.Or(c.FullPath(), "unknown") // one value for all paths without a route
		by := controllers.CallerOf(c)
		s.Metrics.count(c, route, by, took)
		var why []slog.Attr
		failed := c.Writer.Status() >= http.StatusInternalServerError
		if last := c.Errors.Last(); last != nil {
			why, failed = reasons(c.Request.Context(), last, failed)
		}
		level := slog.LevelInfo
		if failed {
			level = slog.LevelError
		}
		if ctx := c.Request.Context(); c.FullPath() != "/health" && s.Logger.Enabled(ctx, level) {
			attributes := append(make([]slog.Attr, 0, 8),
				slog.String("method", c.Request.Method[:min(len(c.Request.Method), 20)]), // a client may send any word
				slog.String("route", route),
				slog.Int("status", c.Writer.Status()),
				slog.Duration("duration", took),
				slog.Int("bytes", max(c.Writer.Size(), 0)),
				slog.String("request_id", id))
			if by.Key != "" {
				attributes = append(attributes, slog.String("key", by.Key))
			}
			if by.Person != "" {
				attributes = append(attributes, slog.String("person", by.Person))
			}
			if written, ok := c.Value(controllers.LoggedWrite).(slog.Attr); ok {
				attributes = append(attributes, written)
			}
			// The logger's methods would look up the line of code, too.
			line := slog.NewRecord(start.Add(took), level, "request", 0)
			line.AddAttrs(append(attributes, why...)...)
			_ = s.Logger.Handler().Handle(ctx, line)
		}
	}()
	c.Next()
}

var errPanic = errors.New("panic")

// isCut marks the error of a response that was cut off, or never started because the client was gone.
const isCut = "cut"

// recoverPanic responds with 500 if a handler panicked, and logs the stack. After the first byte net/http closes the
// connection instead, in the middle of the response.
func (s Service) recoverPanic(c *gin.Context) {
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		abort := cause == any(http.ErrAbortHandler)
		if !abort {
			s.Logger.Error("panic", "type", fmt.Sprintf("%T", cause), "stack", string(debug.Stack()))
			_ = c.Error(errPanic)
		}
		if abort || c.Writer.Written() {
			_ = c.Errors.Last().SetMeta(isCut)
			panic(http.ErrAbortHandler)
		}
		controllers.Refuse(c, controllers.ErrUnexpected)
	}()
	c.Next()
}

// reasons describes what went wrong with a request, and reports whether the service itself failed, which its status says
// unless it was cut. It never includes the text of an error, which may quote a user.
func reasons(ctx context.Context, err *gin.Error, failed bool) ([]slog.Attr, bool) {
	var attributes []slog.Attr
	if err.Meta == isCut {
		by := cutBy(ctx, err)
		attributes = append(attributes, slog.String("cut_by", by))
		failed = by == "storage" || by == "panic"
	}
	if failed {
		attributes = append(attributes, cause(err.Err)...)
	}
	return attributes, failed
}

func cutBy(ctx context.Context, err error) string {
	_, network := errors.AsType[net.Error](err)
	switch {
	// Only a stop closes the connection of a request, whose context may have ended before: half of it was closed.
	case errors.Is(context.Cause(ctx), errStopped), errors.Is(err, net.ErrClosed):
		return "stop"
	case errors.Is(err, errPanic):
		return "panic"
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "stalled_reader"
	case network, errors.Is(err, context.Canceled):
		return "client"
	default:
		return "storage"
	}
}

// cause describes an error: storage's code and its meaning, or the type of an unexpected error.
func cause(err error) []slog.Attr {
	failure, ok := errors.AsType[*models.StorageError](err)
	switch {
	case errors.Is(err, controllers.ErrBusy), errors.Is(err, errPanic):
		return nil
	case !ok:
		return []slog.Attr{slog.String("error_type", fmt.Sprintf("%T", err))}
	}
	return []slog.Attr{slog.String("storage_code", failure.Code), slog.String("storage_error", failure.Meaning)}
}
