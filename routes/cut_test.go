package routes

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"users-api/controllers"
)

const endless = 1 << 30

// sending is a handler that sends as many pieces as are wanted.
func sending(count, size int) gin.HandlerFunc {
	piece := bytes.Repeat([]byte("x"), size)
	return controllers.Handle(func(c *gin.Context) error {
		for range count {
			if _, err := c.Writer.Write(piece); err != nil {
				return err
			}
		}
		return nil
	})
}

// Whatever is sent: the error of a connection is the reason that the log has.
func TestAReaderThatStallsIsCutOff(t *testing.T) {
	t.Parallel()
	const behind = 300 * time.Millisecond
	const stream = "GET /api/changes?limit=1 HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream"
	for name, c := range map[string]struct{ request, fill string }{
		"of a list":                     {"GET /api/users HTTP/1.1\r\nHost: x", longNames},
		"of a list in the other order":  {"GET /api/users?order=desc HTTP/1.0", longNames},
		"of a file":                     {"GET " + csvPath + " HTTP/1.1\r\nHost: x", longNames},
		"of a stream with long events":  {stream, longNames},
		"of a stream with short events": {stream, manyUsers},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, func(l *limits) { l.behind = behind })
			s.record(t)
			s.others(t, c.fill)
			conn, began := s.dial(t), time.Now()
			_ = conn.SetReadBuffer(4 << 10)
			conn.send("%s\r\n\r\n", c.request)
			s.waitForLog(t, "level=INFO msg=request")
			if took := time.Since(began); took < behind || took > 100*behind || !strings.Contains(s.log.String(), "cut_by=stalled_reader") {
				t.Errorf("after %s, where %s are allowed, the log says %s", took, behind, s.log)
			}
			if text, err := conn.rest(); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("%d bytes, then %v", len(text), err)
			}
		})
	}
}

// manyUsers fill a long response with short lines.
const manyUsers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 9000)
	INSERT INTO users (name, email) SELECT printf('%.*c', 1000, 'n'), i FROM n`

// untilReset reads a response in steps until the connection is reset, and returns how much came.
func untilReset(t *testing.T, conn *wire, step int, pause time.Duration) (total int) {
	t.Helper()
	for tick := time.NewTicker(pause); ; <-tick.C { // the slowness is what is tried
		n, err := io.CopyN(io.Discard, conn.TCPConn, int64(step))
		total += int(n)
		if errors.Is(err, syscall.ECONNRESET) {
			return total
		}
		if err != nil {
			t.Fatalf("%d bytes, then %v", total, err)
		}
	}
}

// A reader that takes a little now and then, but less than it must, holds a connection no longer than one that stalls.
func TestAReaderThatTakesTooLittleIsCutOff(t *testing.T) {
	t.Parallel()
	s := startWith(t, sending(endless, 64<<10), func(l *limits) {
		l.behind, l.rate = 500*time.Millisecond, 100<<20
	})
	conn := s.dial(t)
	_ = conn.SetReadBuffer(4 << 10)
	conn.send("GET / HTTP/1.0\r\n\r\n")
	untilReset(t, conn, 64<<10, 20*time.Millisecond) // about 3 MiB/s
	s.waitForLog(t, "cut_by=stalled_reader")
}

// The reader needs several times as long as it may fall behind for what is written at once, and keeps its pace.
func TestAReaderThatIsSlowGetsTheWholeList(t *testing.T) {
	t.Parallel()
	const size, behind = 30 << 20, 1200 * time.Millisecond
	s := startWith(t, sending(1, size), func(l *limits) {
		l.behind, l.rate = behind, 1<<20
	})
	conn := s.dial(t)
	_ = conn.SetReadBuffer(128 << 10)
	conn.send("GET / HTTP/1.0\r\n\r\n")
	began, total := time.Now(), 0
	for tick := time.NewTicker(behind / 12); ; <-tick.C { // the slowness is what is tried
		n, err := io.CopyN(io.Discard, conn, 1<<20)
		total += int(n)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%d bytes, then %v", total, err)
		}
	}
	if total < size || time.Since(began) < 2*behind {
		t.Errorf("%d bytes in %s", total, time.Since(began))
	}
	if _ = s.end(t); strings.Contains(s.log.String(), "cut_by") {
		t.Errorf("the log says %s", s.log)
	}
}

// The time in which a reader waits for storage is not its own.
func TestAReaderThatWaitsForUsIsNotCutOff(t *testing.T) {
	t.Parallel()
	const behind = 400 * time.Millisecond
	s := startWith(t, func(c *gin.Context) {
		for range 2 {
			time.Sleep(3 * behind) // storage is slow, and a reader has twice as long as it may be behind at most
			_, _ = c.Writer.Write(make([]byte, 1<<20))
		}
	}, func(l *limits) { l.behind, l.rate = behind, 1<<20 })
	if got := s.do(t, "GET", "/", ""); got.status != 200 || len(got.body) != 2<<20 {
		t.Errorf("answered %d with %d bytes", got.status, len(got.body))
	}
}

func TestAStopCutsOffWhatDoesNotEnd(t *testing.T) {
	t.Parallel()
	s := startWith(t, sending(endless, 64<<10), func(l *limits) {
		l.stop = 50 * time.Millisecond
	})
	conn := s.dial(t)
	conn.send("GET / HTTP/1.0\r\n\r\n")
	if _, err := io.ReadFull(conn, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	if err := s.end(t); err != nil {
		t.Errorf("a stop is no failure: %v", err)
	}
	if _, err := conn.rest(); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the connection ended with %v", err)
	}
	text := s.log.String()
	if !strings.Contains(text, "cut_by=stop") || !strings.Contains(text, "some clients were cut off") {
		t.Errorf("the log says %s", text)
	}
}

func TestAStopWaitsForTheLinesOfWhatItCutOff(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	s := startWith(t, controllers.Handle(func(c *gin.Context) error {
		close(begun)
		<-c.Request.Context().Done()
		time.Sleep(50 * time.Millisecond) // it takes a while to end
		return c.Request.Context().Err()
	}), func(l *limits) { l.stop = 20 * time.Millisecond })
	s.dial(t).send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	await(t, begun)
	if _ = s.end(t); !strings.Contains(s.log.String(), "status=499") || !strings.Contains(s.log.String(), "cut_by=stop") {
		t.Errorf("the log says %s", s.log)
	}
}
