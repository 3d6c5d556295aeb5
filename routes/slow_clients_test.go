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
		"a file behind a row":               {csv + begun + "\r\nname,email\nn,1\n", 408, late},
		"a deletion without a body":         {"DELETE /api/users/7" + begun + "\r\n", 404, "…User not found…"},
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
	const pause, lines = 250 * time.Millisecond, 16
	for name, c := range map[string]struct{ line, status int }{
		"one that comes twice as fast as it must, and for longer than it may be behind": {30 << 10, 200},
		"one that comes too slowly": {3 << 10, 408},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, func(l *limits) { l.behind = 4 * pause })
			conn := s.Dial(t)
			conn.Send("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\nname,email\n", csvPath, len("name,email\n")+lines*(c.line+4))
			answered := make(chan struct{})
			go func() {
				for i := range lines {
					conn.Send("%0*d,%02d\n", c.line, i, i)
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
	for path, text := range map[string]string{
		"/api/users": program.Body("n", "1"), csvPath: "name,email\nn,1", ndjsonPath: program.Body("n", "1") + "\n",
	} {
		for _, request := range []string{
			fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", path, len(text), text),
			fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", path, len(text), text),
		} {
			s := start(t, func(l *limits) { l.body, l.behind = short, short })
			other := program.OpenOther(t, s.path)
			other.HoldWrites()
			conn := s.Dial(t)
			conn.Send("%s", request)
			time.Sleep(5 * short) // the slowness is what is tried
			other.LetGo()
			answer := conn.Answer()
			answer.To(request).Expect(t, map[string]int{"/api/users": 201, csvPath: 200, ndjsonPath: 200}[path], "…")
		}
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

// net/http sends what no handler writes.
func TestAReaderThatTakesNoEmptyResponsesIsCutOff(t *testing.T) {
	t.Parallel()
	s := startWith(t, func(c *gin.Context) { c.Status(204) }, func(l *limits) { l.behind = 300 * time.Millisecond })
	conn, err := s.Dial(t), error(nil)
	many := []byte(strings.Repeat("GET / HTTP/1.1\r\nHost: x\r\n\r\n", 1000))
	_ = conn.SetWriteDeadline(time.Now().Add(program.Patience))
	for err == nil { // no more are read while no response is
		_, err = conn.Write(many)
	}
	program.Expect(t, "whether the connection stays open", errors.Is(err, os.ErrDeadlineExceeded), false)
}
