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

// serve serves one handler behind all the middleware, and returns its address and its log.
func serve(t *testing.T, handler gin.HandlerFunc) (url string, log *bytes.Buffer) {
	t.Helper()
	log = &bytes.Buffer{}
	logger := slog.New(slog.NewTextHandler(log, nil))
	engine := gin.New()
	use(engine, logger)
	engine.GET("/", handler)
	server := httptest.NewServer(engine)
	t.Cleanup(server.Close)
	return server.URL, log
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
	if !strings.Contains(log.String(), "goroutine") || !strings.Contains(log.String(), "status=500") {
		t.Errorf("the log has no stack or no request: %s", log)
	}
	if strings.Contains(log.String(), "ada@example.org") {
		t.Errorf("what was panicked with may be a user's: %s", log)
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
	if !strings.Contains(log.String(), "goroutine") {
		t.Errorf("the log has no stack: %s", log)
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
	if !strings.Contains(log.String(), "error_type=*errors.errorString") || strings.Contains(log.String(), "ada@example.org") {
		t.Errorf("the log says %s", log)
	}
}
