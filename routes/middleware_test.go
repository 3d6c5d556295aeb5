package routes

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/gin-gonic/gin"
)

func TestAPanicAfterTheFirstByteResetsTheConnection(t *testing.T) {
	t.Parallel()
	s := startWith(t, func(c *gin.Context) {
		_, _ = c.Writer.WriteString("[")
		c.Writer.Flush()
		panic("ada@example.org")
	})
	conn := s.dial(t)
	conn.send("GET / HTTP/1.0\r\n\r\n")
	if text, err := conn.rest(); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%q, then %v", text, err)
	}
	s.waitForLog(t, "cut_by=panic")
	if text := s.log.String(); !strings.Contains(text, "goroutine") || strings.Contains(text, "ada@example.org") ||
		!strings.Contains(text, "level=ERROR msg=request") {
		t.Errorf("the log says %s", text)
	}
}

func TestAPanicIsA500AndAStackInTheLogAndNoMore(t *testing.T) {
	t.Parallel()
	s := startWith(t, func(*gin.Context) { panic("ada@example.org") })
	if got := s.do(t, "GET", "/", ""); got.status != 500 || got.body != `{"error":"Internal server error"}` {
		t.Errorf("answered %d %s", got.status, got.body)
	}
	got := s.do(t, "GET", "/", "", "Accept: application/problem+json")
	if want := `"detail":"Internal server error","code":"internal_error"}`; !strings.HasSuffix(got.body, want) {
		t.Errorf("answered %d %s", got.status, got.body)
	}
	_ = s.end(t)
	text := s.log.String()
	if !strings.Contains(text, "goroutine") || !strings.Contains(text, "level=ERROR msg=request method=GET route=/ ") {
		t.Errorf("the log has no stack or no request: %s", text)
	}
	if strings.Contains(text, "ada@example.org") || strings.Contains(text, "cut_by") {
		t.Errorf("the log says %s", text)
	}
}
