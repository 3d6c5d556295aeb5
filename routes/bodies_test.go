package routes

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"users-api/controllers"
)

// reader is a handler that tells when a body has grown large, and reads the rest of it when it is told to.
func reader(grown chan<- struct{}, goOn <-chan struct{}) gin.HandlerFunc {
	return controllers.Handle(func(c *gin.Context) error {
		if _, err := io.CopyN(io.Discard, c.Request.Body, smallBody+2); err == nil {
			grown <- struct{}{}
			<-goOn
		}
		if _, err := io.Copy(io.Discard, c.Request.Body); err != nil {
			return err
		}
		c.Status(http.StatusNoContent)
		return nil
	})
}

// large sends a body that needs a place, but for its last byte.
func (s *service) large(t *testing.T) *wire {
	t.Helper()
	conn := s.dial(t)
	conn.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", 2*smallBody, strings.Repeat("x", 2*smallBody-1))
	return conn
}

// await ends the test if something does not happen.
func await(t *testing.T, happens <-chan struct{}) {
	t.Helper()
	select {
	case <-happens:
	case <-time.After(patience):
		t.Fatal("it does not happen")
	}
}

func TestLargeBodiesWaitForAPlaceAndSmallOnesDoNot(t *testing.T) {
	t.Parallel()
	grown, goOn := make(chan struct{}, 9), make(chan struct{})
	s := startWith(t, reader(grown, goOn), func(l *limits) { l.largeBodies = 2 })
	first, second := s.large(t), s.large(t)
	await(t, grown)
	await(t, grown)
	third := s.large(t)
	for _, size := range []int{0, 1, smallBody} {
		if got := s.do(t, "POST", "/", strings.Repeat("x", size)); got.status != 204 {
			t.Errorf("a body of %d bytes is answered %d %s", size, got.status, got.body)
		}
	}
	if len(grown) != 0 {
		t.Fatal("a third body has grown large")
	}
	goOn <- struct{}{}
	goOn <- struct{}{}
	first.send("x")
	second.send("x")
	if got := first.answer(); got.status != 204 {
		t.Errorf("the first is answered %d %s", got.status, got.body)
	}
	await(t, grown)
	goOn <- struct{}{}
	third.send("x")
	if got := third.answer(); got.status != 204 {
		t.Errorf("the third is answered %d %s", got.status, got.body)
	}
}

// What a handler made of a body is as large as the body, until the answer was sent.
func TestALargeBodyKeepsItsPlaceWhileItIsWorkedOn(t *testing.T) {
	t.Parallel()
	whole, goOn := make(chan struct{}, 9), make(chan struct{})
	s := startWith(t, controllers.Handle(func(c *gin.Context) error {
		if n, err := io.Copy(io.Discard, c.Request.Body); err != nil || n <= smallBody {
			return err
		}
		whole <- struct{}{}
		<-goOn
		return nil
	}), func(l *limits) { l.largeBodies = 1 })
	first := s.large(t)
	first.send("x")
	await(t, whole)
	second := s.large(t)
	second.send("x")
	for range 20 {
		s.do(t, "POST", "/", "small")
	}
	if len(whole) != 0 {
		t.Error("a second body has arrived")
	}
	goOn <- struct{}{}
	first.answer()
	await(t, whole)
	goOn <- struct{}{}
	second.answer()
}

func TestALargeBodyWithoutAPlaceIsToldToComeAgain(t *testing.T) {
	t.Parallel()
	grown, goOn := make(chan struct{}, 1), make(chan struct{})
	s := startWith(t, reader(grown, goOn), func(l *limits) { l.largeBodies, l.body = 1, 500*time.Millisecond })
	first := s.large(t)
	await(t, grown)
	got := s.large(t).answer()
	want := `{"error":"Too many large request bodies are arriving at once: send it again in a few seconds"}`
	if got.status != 503 || got.body != want || got.header.Get("Retry-After") != "5" {
		t.Errorf("answered %d %s with %v", got.status, got.body, got.header)
	}
	s.waitForLog(t, "level=ERROR msg=request method=POST route=/ status=503")
	close(goOn)
	_ = first.Close()
}

func TestAStopEndsTheWaitForAPlace(t *testing.T) {
	t.Parallel()
	grown, goOn := make(chan struct{}, 1), make(chan struct{})
	s := startWith(t, reader(grown, goOn), func(l *limits) { l.largeBodies, l.stop = 1, 50*time.Millisecond })
	s.large(t)
	await(t, grown)
	waiting := s.dial(t)
	waiting.send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", 2*smallBody)
	if line, err := waiting.reader.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("%q, %v", line, err) // the handler reads now
	}
	waiting.send("%s", strings.Repeat("x", 2*smallBody))
	if err := s.end(t); err != nil {
		t.Error(err)
	}
	if text, err := waiting.rest(); text != "\r\n" || !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%q, then %v", text, err)
	}
	s.waitForLog(t, "status=499")
	s.waitForLog(t, "cut_by=stop")
	close(goOn)
}

func TestTheDeadlineOfABodyDoesNotEndTheWaitForStorage(t *testing.T) {
	t.Parallel()
	const deadline = 50 * time.Millisecond
	for _, request := range []string{
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}",
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
	} {
		s := startWith(t, controllers.Handle(func(c *gin.Context) error {
			if _, err := io.ReadAll(c.Request.Body); err != nil {
				return err
			}
			select {
			case <-c.Request.Context().Done():
				return c.Request.Context().Err()
			case <-time.After(5 * deadline): // storage works all this time
				c.Status(http.StatusNoContent)
				return nil
			}
		}), func(l *limits) { l.body = deadline })
		conn := s.dial(t)
		conn.send("%s", request)
		if got := conn.answer(); got.status != 204 {
			t.Errorf("answered %d %s", got.status, got.body)
		}
	}
}

// A request without a body to wait for is answered at once, and its connection is closed all the same.
func TestABodyThatStallsIsAnswered408(t *testing.T) {
	t.Parallel()
	const late = `{"error":"The request body did not arrive in time"}`
	const post, begun = "POST /api/users", " HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n"
	const chunks = " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
	s := start(t, func(l *limits) { l.body, l.behind = 300*time.Millisecond, 300*time.Millisecond })
	for name, test := range map[string]struct {
		beginning string
		status    int
		says      string
	}{
		"with a length":                   {post + begun + "\r\n" + `{"name":`, 408, late},
		"in chunks":                       {post + chunks + "\r\n8\r\n" + `{"name":` + "\r\n", 408, late},
		"in the size of a chunk":          {"PUT /api/users/1" + chunks + "\r\n5", 408, late},
		"of HTTP/1.0":                     {post + " HTTP/1.0\r\nContent-Length: 100\r\n\r\n{", 408, late},
		"of a change":                     {"PATCH /api/users/1" + begun + "\r\n", 408, late},
		"of a deletion, which needs none": {"DELETE /api/users/7" + begun + "\r\n", 404, `{"error":"User not found"}`},
		"of a list":                       {"GET /api/users" + chunks + "\r\n", 200, "[]"},
		"of health":                       {"GET /health" + begun + "\r\nx", 200, `{"status":"ok"}`},
		"of an unknown path":              {"POST /nothing" + begun + "\r\n", 404, `{"error":"Not found"}`},
		"of another site":                 {post + begun + "Origin: http://y\r\n\r\n", 403, "another site"},
		"of a file of another site":       {"POST " + csvPath + chunks + "Origin: http://y\r\n\r\n", 403, "another site"},
		"of a form":                       {"POST " + csvPath + begun + "Content-Type: multipart/form-data; boundary=x\r\n\r\n", 415, ""},
		"of a file that is announced":     {"POST " + ndjsonPath + "?x" + begun + "Expect: 100-continue\r\n\r\n", 400, ""},
		"after an unknown expectation":    {post + begun + "Expect: miracles\r\n\r\n", 417, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := s.dial(t)
			conn.send("%s", test.beginning)
			if got := conn.answer(); got.status != test.status || !strings.Contains(got.body, test.says) {
				t.Errorf("answered %d %s", got.status, got.body)
			}
			if text, _ := conn.rest(); text != "" { // nothing can follow half a body
				t.Errorf("then comes %q", text)
			}
		})
	}
	t.Cleanup(func() {
		if _ = s.end(t); strings.Contains(s.log.String(), "level=ERROR") {
			t.Errorf("the log says %s", s.log)
		}
	})
}

func TestHeadersThatStallCloseTheConnection(t *testing.T) {
	t.Parallel()
	s := start(t, func(l *limits) { l.header = 300 * time.Millisecond })
	for _, beginning := range []string{"", "GET /health HTTP/1.1\r\nHost:"} {
		conn := s.dial(t)
		conn.send("%s", beginning)
		if text, _ := conn.rest(); text != "" {
			t.Errorf("after %q comes %q", beginning, text)
		}
	}
}

func TestABodyThatEndsEarlyIsRefused(t *testing.T) {
	t.Parallel()
	s := start(t)
	conn := s.dial(t)
	conn.send("POST /api/users HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{")
	_ = conn.CloseWrite()
	got := conn.answer()
	if got.status != 400 || got.body != `{"error":"The request body could not be read to its end"}` {
		t.Errorf("answered %d %s", got.status, got.body)
	}
}

func TestAClientThatWentAwayIsNotAnswered(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	s := startWith(t, controllers.Handle(func(c *gin.Context) error {
		close(begun)
		<-c.Request.Context().Done()
		return c.Request.Context().Err()
	}))
	conn := s.dial(t)
	conn.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	await(t, begun)
	_ = conn.Close()
	s.waitForLog(t, "level=INFO msg=request method=GET route=/ status=499")
	s.waitForLog(t, "cut_by=client")
}
