package routes

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"users-api/controllers"
)

// serve serves one handler behind all the middleware, and returns its address and what gives its log: that ends the
// server, so that every line is written.
func serve(t *testing.T, handler gin.HandlerFunc) (url string, log func() string) {
	t.Helper()
	var lines bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&lines, nil))
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	use(engine, logger)
	engine.GET("/", handler)
	server := httptest.NewServer(engine)
	t.Cleanup(server.Close)
	return server.URL, func() string {
		server.Close()
		return lines.String()
	}
}

func TestAPanicIsA500AndAStackInTheLogAndNoMore(t *testing.T) {
	url, log := serve(t, func(*gin.Context) { panic("ada@example.org") })
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // it is read to its end
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != 500 || string(body) != `{"error":"Internal server error"}` {
		t.Errorf("answered %d %s, %v", answer.StatusCode, body, err)
	}
	text := log()
	if !strings.Contains(text, "goroutine") || !strings.Contains(text, "status=500") {
		t.Errorf("the log has no stack or no request: %s", text)
	}
	if strings.Contains(text, "ada@example.org") {
		t.Errorf("what was panicked with may be a user's: %s", text)
	}
}

func TestAPanicAfterTheFirstByteBreaksTheConnectionOff(t *testing.T) {
	url, log := serve(t, func(c *gin.Context) {
		_, _ = c.Writer.WriteString("[")
		c.Writer.Flush()
		panic("too late")
	})
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // it is broken
	if body, err := io.ReadAll(answer.Body); err == nil {
		t.Errorf("%q looks whole", body)
	}
	if text := log(); !strings.Contains(text, "goroutine") {
		t.Errorf("the log has no stack: %s", text)
	}
}

func TestAnErrorThatNobodyForesawIsNotShown(t *testing.T) {
	url, log := serve(t, controllers.Handle(func(*gin.Context) error {
		return errors.New("sql: Scan error on ada@example.org")
	}))
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // it is read to its end
	if body, _ := io.ReadAll(answer.Body); answer.StatusCode != 500 || string(body) != `{"error":"Internal server error"}` {
		t.Errorf("answered %d %s", answer.StatusCode, body)
	}
	if text := log(); !strings.Contains(text, "error_type=*errors.errorString") || strings.Contains(text, "ada@example.org") {
		t.Errorf("the log says %s", text)
	}
}
