package routes

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"users-api/controllers"
	"users-api/models"
	"users-api/tests/program"
)

func TestTheTextOfAnErrorIsNotInTheLog(t *testing.T) {
	t.Parallel()
	const text = "no ada@example.org"
	for line, failure := range map[string]error{
		"error_type=*errors.errorString":            errors.New(text),
		`storage_code="" storage_error=""`:          &models.StorageError{Text: text},
		`storage_code=1 storage_error="SQL error"`:  &models.StorageError{Text: text, Code: "1", Meaning: "SQL error"},
		`storage_error="` + models.ErrReplaced.Text: models.ErrReplaced,
	} {
		s := startWith(t, controllers.Handle(func(*gin.Context) error { return failure }))
		s.Do(t, "GET", "/", "").Expect(t, 500, "…")
		s.WaitForLog(t, "level=ERROR…"+line)
		program.Forbid(t, s.Log(), "ada@")
	}
}

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

// A stop waits for the lines of what it cuts off, and for nothing that a client does.
func TestAStopCutsOffWhatDoesNotEnd(t *testing.T) {
	t.Parallel()
	const endless = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
	for name, c := range map[string]struct {
		request string
		leave   bool // the client sends nothing any more, which ends the request's context
	}{
		"a response that is not taken":                        {endless, false},
		"one that is not taken by a client that only listens": {endless, true},
		"a body that does not arrive":                         {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun := make(chan struct{})
			s := startWith(t, controllers.Handle(func(c *gin.Context) error {
				close(begun)
				if _, err := io.Copy(io.Discard, c.Request.Body); err != nil {
					return err
				}
				for {
					if _, err := c.Writer.Write(make([]byte, 64000)); err != nil {
						return err
					}
				}
			}), func(l *limits) { l.stop = 200 * time.Millisecond })
			conn := s.Dial(t)
			conn.Send("%s", c.request)
			await(t, "the request is worked on", begun)
			if c.leave {
				_ = conn.Conn.(*net.TCPConn).CloseWrite()
			}
			s.end(t)
			log := s.Log()
			if !program.Matches(log, "…some clients were cut off…level=INFO msg=request…cut_by=stop…") {
				t.Fatalf("after the stop the log says %s", log)
			}
			if text, _ := conn.Rest(); strings.HasSuffix(text, "\r\n0\r\n\r\n") {
				t.Errorf("the connection ends after %d bytes as after a whole response", len(text))
			}
		})
	}
}

func TestAnImportIsLoggedWithoutAnyUser(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		route, body   string
		stored        bool
		rows, created int
	}{
		{csvPath + "?dry_run=false", "name,email,secret\nAda Lovelace,ada@example.org,1\nA,ada@example.org,2\n", false, 2, 0},
		{csvPath + "?dry_run=true", "name,email\nAda,ada@example.org\n", false, 1, 1},
		{ndjsonPath + "?dry_run=false", program.Body("Ada Lovelace", "ada@example.org"), true, 1, 1},
	} {
		s := start(t)
		s.Do(t, "POST", c.route, c.body, "X-Request-Id: mine")
		s.WaitForLog(t, `msg="import started" request_id=mine route=`+strings.Replace(c.route, "?", " ", 1)+"\n")
		s.WaitForLog(t, fmt.Sprintf(`msg=request…stored=%t rows=%d created=%d updated=0 skipped=0 deleted=0`, c.stored, c.rows, c.created))
		program.Forbid(t, s.Log(), "Ada", "ada@", "secret")
	}
}
