package routes

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"users-api/controllers"
	"users-api/tests/program"
)

// The stack is for the log alone, and what was being worked on for nobody.
func TestAPanicIsA500OrCutsTheResponse(t *testing.T) {
	t.Parallel()
	s := startWith(t, func(c *gin.Context) {
		if c.Query("late") != "" {
			_, _ = c.Writer.Write(make([]byte, 10000))
		}
		panic("ada@example.org")
	})
	s.Do(t, "GET", "/", "").Expect(t, 500, program.ErrorBody("Internal server error"))
	s.WaitForLog(t, "level=ERROR msg=panic…goroutine")
	s.WaitForLog(t, "level=ERROR msg=request method=GET route=/ ")
	program.Forbid(t, s.Log(), "cut_by")
	late := s.Dial(t)
	late.Send("GET /?late=yes HTTP/1.1\r\nHost: x\r\n\r\n")
	if text, _ := late.Rest(); !strings.HasPrefix(text, "HTTP/1.1 200") || strings.HasSuffix(text, "\r\n0\r\n\r\n") {
		t.Errorf("%q is not the beginning of a response", text)
	}
	s.WaitForLog(t, "level=ERROR msg=request…cut_by=panic")
	program.Forbid(t, s.Log(), "ada@")
}

// A stop waits for the line of what it cuts off, and for nothing that a client does.
func TestAStopCutsOffWhatDoesNotEnd(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	s := startWith(t, controllers.Handle(func(c *gin.Context) error {
		close(begun)
		for {
			if _, err := c.Writer.Write(make([]byte, 64000)); err != nil {
				return err
			}
		}
	}), func(l *limits) { l.stop = 200 * time.Millisecond })
	conn := s.Dial(t) // which does not take the response
	conn.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	await(t, "the request is worked on", begun)
	s.end(t)
	program.Expect(t, "the log", s.Log(), "…some clients were cut off…level=INFO msg=request…cut_by=stop…")
	if text, _ := conn.Rest(); strings.HasSuffix(text, "\r\n0\r\n\r\n") {
		t.Errorf("the connection ends after %d bytes as after a whole response", len(text))
	}
}

func TestAnImportIsLoggedWithoutAnyUser(t *testing.T) {
	t.Parallel()
	const rows = "name,email,secret\nAda Lovelace,ada@example.org,1\nA,ada@example.org,2\n"
	for path, ended := range map[string]string{
		csvPath: "stored=false rows=2 created=0", csvPath + "?on_conflict=update&dry_run=true": "stored=false rows=2 created=1",
		csvPath + "?on_conflict=update": "stored=true rows=2 created=1",
	} {
		s := start(t)
		s.Do(t, "POST", path, rows, "X-Request-Id: mine")
		s.WaitForLog(t, fmt.Sprintf(`msg="import started" request_id=mine route=%s dry_run=%t`, csvPath, strings.Contains(path, "dry_run")))
		s.WaitForLog(t, "msg=request…"+ended+" …")
		program.Forbid(t, s.Log(), "Ada", "ada@", "secret")
	}
}
