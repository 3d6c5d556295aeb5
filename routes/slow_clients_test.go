package routes

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"users-api/controllers"
	"users-api/tests/program"
)

// How long clients may take, with shorter limits than the usual ones. A client that does not do its part is cut off;
// one that does is served however long that takes, and what the service or its storage takes is not counted.

// A request without a body to wait for is answered at once, and its connection is closed all the same.
func TestWhatStallsWhileItIsSentIsGivenUp(t *testing.T) {
	t.Parallel()
	const late = `{"error":"The request body did not arrive in time"}`
	const post, csv = "POST /api/users", "POST " + csvPath
	const begun = " HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n"
	const chunks = " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
	s := start(t, func(l *limits) {
		const short = 300 * time.Millisecond
		l.header, l.body, l.behind = short, short, short
	})
	for name, test := range map[string]struct {
		beginning string
		status    int // 0: the connection is closed without an answer
		says      string
	}{
		"nothing":                           {"", 0, ""},
		"half a header":                     {"GET /health HTTP/1.1\r\nHost:", 0, ""},
		"a body with a length":              {post + begun + "\r\n" + `{"name":`, 408, late},
		"the size of a chunk":               {"PUT /api/users/1" + chunks + "\r\n5", 408, late},
		"a body of HTTP/1.0":                {post + " HTTP/1.0\r\nContent-Length: 100\r\n\r\n{", 408, late},
		"the header of a file":              {csv + begun + "\r\nname,em", 408, late},
		"a file behind a row":               {csv + begun + "\r\nname,email\nn,1\n", 408, late},
		"lines behind one":                  {"POST " + ndjsonPath + begun + "\r\n" + `{"name":"n","email":"1"}` + "\n", 408, late},
		"a deletion without a body":         {"DELETE /api/users/7" + begun + "\r\n", 404, "…User not found…"},
		"a list":                            {"GET /api/users" + chunks + "\r\n", 200, "[]"},
		"a file of another site":            {csv + chunks + "Origin: http://y\r\n\r\n", 403, "…another site…"},
		"a body behind another expectation": {post + begun + "Expect: miracles\r\n\r\n", 417, "…"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := s.Dial(t)
			conn.Send("%s", test.beginning)
			conn.Answer().To(fmt.Sprintf("%.50q", test.beginning)).Expect(t, test.status, test.says)
			if text, _ := conn.Rest(); text != "" { // nothing can follow half a body
				t.Errorf("then comes %q", text)
			}
		})
	}
	t.Cleanup(func() {
		s.ExpectUsers(t)
		s.end(t)
		program.Forbid(t, s.Log(), "level=ERROR")
	})
}

func TestABodyThatEndsEarlyIsRefused(t *testing.T) {
	t.Parallel()
	conn := start(t).Dial(t)
	conn.Send("%sContent-Length: 10\r\n\r\n{", program.PostUsers)
	_ = conn.Conn.(*net.TCPConn).CloseWrite()
	conn.Answer().Expect(t, 400, program.ErrorBody("The request body could not be read to its end"))
}

// A file has no time limit as a whole. One that always brings less than it must would hold its place for ever.
func TestAFileMustKeepItsPace(t *testing.T) {
	t.Parallel()
	const pause, header, lines = 250 * time.Millisecond, "name,email\n", 16
	for name, c := range map[string]struct{ line, status int }{
		"one that comes twice as fast as it must, and for longer than it may be behind": {30 << 10, 200},
		"one that comes too slowly": {3 << 10, 408},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, func(l *limits) { l.behind = 4 * pause })
			conn := s.Dial(t)
			line := func(i int) string { return fmt.Sprintf("%0*d,%d\n", c.line, i, i) }
			length := len(header)
			for i := range lines {
				length += len(line(i))
			}
			conn.Send("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", csvPath, length, header)
			answered := make(chan struct{})
			go func() {
				for i := range lines {
					conn.Send("%s", line(i))
					select {
					case <-answered:
						return
					case <-time.After(pause): // the slowness is what is tried
					}
				}
			}()
			conn.Answer().To(name).Expect(t, c.status, "…")
			close(answered)
		})
	}
}

// The time that a body or a file has to arrive ends with it, also where the last line of a file has no end: a reader
// asks once more then. Another program holds the write lock for longer than that.
func TestTheTimeToSendDoesNotEndTheWaitForStorage(t *testing.T) {
	t.Parallel()
	const short = 100 * time.Millisecond
	requests := map[string]string{
		"with a length": "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s",
		"in chunks":     "POST %s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n",
	}
	for _, c := range []struct {
		path, text string
		status     int
	}{
		{"/api/users", program.Body("n", "1"), 201},
		{csvPath, "name,email\nn,1", 200},
		{ndjsonPath, program.Body("n", "1") + "\n", 200},
	} {
		for kind, request := range requests {
			t.Run(fmt.Sprintf("%q to %s %s", c.text, c.path, kind), func(t *testing.T) {
				t.Parallel()
				s := start(t, func(l *limits) { l.body, l.behind = short, short })
				other := program.OpenOther(t, s.path)
				other.HoldWrites()
				conn := s.Dial(t)
				conn.Send(request, c.path, len(c.text), c.text)
				time.Sleep(5 * short) // the slowness is what is tried
				other.LetGo()
				conn.Answer().Expect(t, c.status, "…")
			})
		}
	}
}

// longNames fill a long response.
const longNames = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 9)
	INSERT INTO users (name, email) SELECT printf('%.*c', 1000000, 'n'), 'long' || i FROM n`

// Whatever is sent: the error of a connection is the reason that the log has.
func TestAReaderThatStallsIsCutOff(t *testing.T) {
	t.Parallel()
	const behind = 300 * time.Millisecond
	for name, path := range map[string]string{"of a list in the other order": "/api/users?order=desc", "of a file": csvPath} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, func(l *limits) { l.behind = behind })
			program.OpenOther(t, s.path).Do(longNames)
			conn, began := s.Dial(t), time.Now()
			conn.Buffer(4 << 10)
			conn.Send("GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
			s.WaitForLog(t, "level=INFO msg=request…cut_by=stalled_reader")
			if took := time.Since(began); took < behind || took > 100*behind {
				t.Errorf("it is cut off after %s, and may be behind for %s", took, behind)
			}
			if whole := conn.Answers(); len(whole) > 0 {
				t.Errorf("the connection ends after %d bytes as after a whole response", len(whole[0].Body))
			}
		})
	}
}

const endless = 1 << 30

// sending is a handler that sends as many pieces as are wanted, and thinks before each.
func sending(count, size int, thinks time.Duration) gin.HandlerFunc {
	piece := bytes.Repeat([]byte("x"), size)
	return controllers.Handle(func(c *gin.Context) error {
		for range count {
			time.Sleep(thinks)
			if _, err := c.Writer.Write(piece); err != nil {
				return err
			}
		}
		return nil
	})
}

// A reader that takes a little now and then, but less than it must, holds a connection no longer than one that stalls.
func TestAReaderMustKeepItsPace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		handler    gin.HandlerFunc
		behind     time.Duration
		step       int64 // how much it takes at a time
		pause      time.Duration
		whole      int64 // 0: it is cut off
		readBuffer int
	}{
		"one that takes 40 KiB/s of 120": {
			sending(endless, 64<<10, 0), 500 * time.Millisecond, 4 << 10, 100 * time.Millisecond,
			0, 4 << 10},
		"one that takes 10 MiB/s of 1, and more than twice as long as it may be behind": {
			sending(1, 30<<20, 0), 1200 * time.Millisecond, 1 << 20, 100 * time.Millisecond,
			30 << 20, 128 << 10},
		"one that waits for storage, and longer than it may be behind": {
			sending(2, 1<<20, 1200*time.Millisecond), 400 * time.Millisecond, 1 << 20, time.Millisecond,
			2 << 20, 4 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startWith(t, c.handler, func(l *limits) { l.behind = c.behind })
			conn := s.Dial(t)
			conn.Buffer(c.readBuffer)
			conn.Send("GET / HTTP/1.0\r\n\r\n")
			total, err := int64(0), error(nil)
			for tick := time.NewTicker(c.pause); err == nil && (c.whole > 0 || total < 1<<20); <-tick.C { // the slowness is what is tried
				var n int64
				_ = conn.SetReadDeadline(time.Now().Add(program.Patience))
				n, err = io.CopyN(io.Discard, conn.Conn, c.step)
				total += n
			}
			if isWhole := errors.Is(err, io.EOF) && c.whole > 0 && total > c.whole; isWhole != (c.whole > 0) {
				t.Errorf("%d bytes came, then %v; want %d", total, err, c.whole)
			}
			s.end(t)
			isCut := strings.Contains(s.Log(), "cut_by=stalled_reader")
			program.Expect(t, "whether the log says that it was cut off", isCut, c.whole == 0)
		})
	}
}

// The time limits of bodies, idle connections and probes are shorter than a client may wait.
func TestNoTimeLimitEndsARequestThatWaits(t *testing.T) {
	t.Parallel()
	s := start(t, func(l *limits) {
		const short = time.Second / 10
		l.body, l.idle, l.probe, l.stop, l.behind = short, short, short, short, 5*short
	})
	began := time.Now()
	s.Do(t, "GET", "/api/changes?wait=2", "").Expect(t, 200, `{"changes":[],…`)
	if took := time.Since(began); took < 2*time.Second {
		t.Errorf("it is answered after %s, want 2 s", took)
	}
}

// expectGivenUp asks again and again without taking a response.
func expectGivenUp(t *testing.T, conn *program.Conn, path string) {
	t.Helper()
	many := []byte(strings.Repeat("GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n", 1000))
	_ = conn.SetWriteDeadline(time.Now().Add(program.Patience))
	var err error
	for err == nil { // no more are read while no response is
		_, err = conn.Write(many)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection stays open")
	}
}

// net/http sends what no handler writes.
func TestAReaderThatTakesNoEmptyResponsesIsCutOff(t *testing.T) {
	t.Parallel()
	s := startWith(t, func(c *gin.Context) { c.Status(204) }, func(l *limits) { l.behind = 300 * time.Millisecond })
	expectGivenUp(t, s.Dial(t), "/")
}

// The admin port gives a client no more time than the public one, and does not count the time of a profile.
func TestTheAdminPortClosesIdleAndStalledConnections(t *testing.T) {
	t.Parallel()
	const short = time.Second
	l, accept := usual(), listen(t)
	l.header, l.body, l.idle, l.behind = short, short, short, 3*short
	t.Cleanup(silent(nil).admin(l, t.Context(), accept))
	admin := program.At("http://" + accept.Addr().String())
	for name, request := range map[string]string{
		"half a header":  "GET /livez HTTP/1.1\r\nHost",
		"a body to come": "POST /debug/pprof/symbol HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n",
		"an idle one":    "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := admin.Dial(t)
			conn.Send("%s", request)
			if text, clean := conn.Rest(); !clean {
				t.Errorf("after %q it is reset", text)
			}
		})
	}
	t.Run("a reader that stalls", func(t *testing.T) {
		t.Parallel()
		expectGivenUp(t, admin.Dial(t), "/metrics")
	})
	admin.Do(t, "GET", "/debug/pprof/trace?seconds=4", "").Expect(t, 200, "…")
}
