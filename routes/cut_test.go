package routes

import (
	"context"
	"errors"
	"io"
	"iter"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"users-api/controllers"
	"users-api/models"
)

// breaking has a list and searches of its own.
type breaking struct {
	models.Users
	pieces iter.Seq2[[]byte, error]
	found  iter.Seq2[models.User, error]
}

func (b breaking) List(_ context.Context, send func(models.List) error) error {
	return send(models.List{Length: -1, Chunks: b.pieces})
}

func (b breaking) Select(context.Context, models.Query) iter.Seq2[[]models.User, error] {
	return func(yield func([]models.User, error) bool) {
		for user, err := range b.found {
			if !yield([]models.User{user}, err) {
				return
			}
		}
	}
}

func (b breaking) Export(_ context.Context, _ models.Query, send func(models.Export) error) error {
	return send(models.Export{Users: b.found})
}

// stored is a database that is asked for everything else.
func stored(t *testing.T) models.Users {
	t.Helper()
	users, _ := openUsers(t)
	return users
}

// full is the failure of an engine that is not about a user, with a text that quotes one all the same.
var full = &models.StorageError{Text: "disk full at ada@example.org", Code: "13", Meaning: "full"}

// pieces yields as many pieces of 64 KiB as are wanted, and then fails when there is something to fail with.
func pieces(count int, failure error) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		piece := []byte(strings.Repeat("x", 64<<10))
		for range count {
			if !yield(piece, nil) {
				return
			}
		}
		if failure != nil {
			yield(nil, failure)
		}
	}
}

// long users yield until the reader has enough, or until one that fails.
func longUsers(count int, failure error) iter.Seq2[models.User, error] {
	return func(yield func(models.User, error) bool) {
		for i := range count {
			if !yield(models.User{ID: int64(i), NewUser: models.NewUser{Name: strings.Repeat("n", 40_000)}}, nil) {
				return
			}
		}
		if failure != nil {
			yield(models.User{}, failure)
		}
	}
}

const endless = 1 << 30

func TestAListThatStorageBreaksOffIsResetAndAnError(t *testing.T) {
	t.Parallel()
	users := breaking{stored(t), pieces(3, full), longUsers(3, full)}
	for _, path := range []string{"/api/users", "/api/users?q=n", "/api/users?order=desc"} {
		for _, version := range []string{"HTTP/1.0", "HTTP/1.1"} {
			t.Run(path+" "+version, func(t *testing.T) {
				s := startWith(t, users, nil)
				conn := s.dial(t)
				conn.send("GET %s %s\r\nHost: x\r\n\r\n", path, version)
				if text, err := conn.rest(); !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("%d bytes, then %v", len(text), err)
				}
				s.waitForLog(t, "level=ERROR msg=request method=GET route=/api/users status=200")
				s.waitForLog(t, "cut_by=storage storage_code=13 storage_error=full")
				if text := s.log.String(); strings.Contains(text, "goroutine") || strings.Contains(text, "ada@") {
					t.Errorf("the log says %s", text)
				}
			})
		}
	}
}

func TestAListThatFailsBeforeItsFirstByteIsAnAnswer(t *testing.T) {
	t.Parallel()
	s := startWith(t, breaking{stored(t), pieces(0, full), longUsers(1, full)}, nil)
	for _, path := range []string{"/api/users", "/api/users?q=n", "/api/users?limit=5"} {
		for _, method := range []string{"GET", "HEAD"} {
			got := s.do(t, method, path, "")
			if got.status != 500 || method == "GET" && got.body != `{"error":"disk full at ada@example.org"}` {
				t.Errorf("%s %s is answered %d %s", method, path, got.status, got.body)
			}
			if got.header.Get("Cache-Control") != "" || got.header.Get("ETag") != "" {
				t.Errorf("%s %s has the headers %v", method, path, got.header)
			}
		}
	}
	if _ = s.end(t); strings.Contains(s.log.String(), "cut_by") || strings.Count(s.log.String(), "storage_code=13") != 6 {
		t.Errorf("the log says %s", s.log)
	}
}

func TestHEADOfALongListReadsNoMoreThanItNeeds(t *testing.T) {
	t.Parallel()
	s := startWith(t, breaking{stored(t), pieces(endless, nil), longUsers(endless, nil)}, nil)
	for id, path := range map[string]string{"all": "/api/users", "some": "/api/users?q=n"} {
		got := s.do(t, "HEAD", path, "", "X-Request-Id: "+id)
		if got.status != 200 || got.header.Get("Content-Type") == "" {
			t.Errorf("%s is answered %d, %v", path, got.status, got.header)
		}
		s.waitForLog(t, "bytes=0 request_id="+id+"\n")
	}
}

func TestAListThatTheClientLeavesIsNoError(t *testing.T) {
	t.Parallel()
	s := startWith(t, breaking{stored(t), pieces(endless, nil), nil}, nil)
	conn := s.dial(t)
	conn.send("GET /api/users HTTP/1.1\r\nHost: x\r\n\r\n")
	if _, err := io.ReadFull(conn, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	s.waitForLog(t, "cut_by=client")
	if text := s.log.String(); !strings.Contains(text, "level=INFO msg=request") || strings.Contains(text, "ERROR") {
		t.Errorf("the log says %s", text)
	}
}

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

func TestAReaderThatStallsIsCutOff(t *testing.T) {
	t.Parallel()
	const behind = 300 * time.Millisecond
	s := startWith(t, breaking{stored(t), pieces(endless, nil), nil}, nil, func(l *limits) { l.behind = behind })
	conn, began := s.dial(t), time.Now()
	conn.send("GET /api/users HTTP/1.0\r\n\r\n")
	s.waitForLog(t, "cut_by=stalled_reader")
	if took := time.Since(began); took < behind || took > 20*behind {
		t.Errorf("it took %s, where %s are allowed", took, behind)
	}
	if text, err := conn.rest(); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%d bytes, then %v", len(text), err)
	}
	if text := s.log.String(); !strings.Contains(text, "level=INFO msg=request") {
		t.Errorf("the log says %s", text)
	}
}

// A reader that takes a little now and then, but less than it must, holds a connection no longer than one that stalls.
func TestAReaderThatTakesTooLittleIsCutOff(t *testing.T) {
	t.Parallel()
	s := startWith(t, breaking{stored(t), pieces(endless, nil), nil}, nil, func(l *limits) {
		l.behind, l.rate = 500*time.Millisecond, 100<<20
	})
	conn := s.dial(t)
	_ = conn.SetReadBuffer(4 << 10)
	conn.send("GET /api/users HTTP/1.0\r\n\r\n")
	untilReset(t, conn, 64<<10, 20*time.Millisecond) // about 3 MiB/s
	s.waitForLog(t, "cut_by=stalled_reader")
}

// The reader needs several times as long as it may fall behind for what is written at once, and keeps its pace.
func TestAReaderThatIsSlowGetsTheWholeList(t *testing.T) {
	t.Parallel()
	const size, behind = 48 << 20, 400 * time.Millisecond
	whole := func(yield func([]byte, error) bool) { yield(make([]byte, size), nil) }
	s := startWith(t, breaking{stored(t), whole, nil}, nil, func(l *limits) {
		l.behind, l.rate = behind, 4<<20
	})
	conn := s.dial(t)
	_ = conn.SetReadBuffer(128 << 10)
	conn.send("GET /api/users HTTP/1.0\r\n\r\n")
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
	const behind = 100 * time.Millisecond
	slow := func(yield func([]byte, error) bool) {
		for range 5 {
			time.Sleep(behind) // storage is slow
			if !yield(make([]byte, 8<<20), nil) {
				return
			}
		}
	}
	s := startWith(t, breaking{stored(t), slow, nil}, nil, func(l *limits) { l.behind, l.rate = behind, 100<<20 })
	if got := s.do(t, "GET", "/api/users", ""); got.status != 200 || len(got.body) != 40<<20 {
		t.Errorf("answered %d with %d bytes", got.status, len(got.body))
	}
}

func TestAStopCutsOffWhatDoesNotEnd(t *testing.T) {
	t.Parallel()
	s := startWith(t, breaking{stored(t), pieces(endless, nil), nil}, nil, func(l *limits) {
		l.stop = 50 * time.Millisecond
	})
	conn := s.dial(t)
	conn.send("GET /api/users HTTP/1.0\r\n\r\n")
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
	s := startWith(t, nil, controllers.Handle(func(c *gin.Context) error {
		close(begun)
		<-c.Request.Context().Done()
		time.Sleep(50 * time.Millisecond) // it takes a while to end
		return c.Request.Context().Err()
	}), func(l *limits) { l.stop = 20 * time.Millisecond })
	s.dial(t).send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	<-begun
	if _ = s.end(t); !strings.Contains(s.log.String(), "status=499") || !strings.Contains(s.log.String(), "cut_by=stop") {
		t.Errorf("the log says %s", s.log)
	}
}
