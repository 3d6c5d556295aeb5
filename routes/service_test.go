package routes

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"users-api/models"
)

// patience is how long a test waits for what must happen.
const patience = time.Minute

// service is a running server of a test.
type service struct {
	*models.Users
	models.Database
	served       Service
	url, address string
	log          *lines
	stop         context.CancelFunc
	ended        chan error
}

// lines is a log that can be read while it is written.
type lines struct {
	sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(line []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.text.Write(line)
}

func (l *lines) String() string {
	l.Lock()
	defer l.Unlock()
	return l.text.String()
}

// plain are the fields of the specification.
func plain() models.Fields { return models.NewFields()[:2] }

// newDatabase returns where an empty database is.
func newDatabase(t testing.TB) models.Database {
	t.Helper()
	return models.Database{Path: filepath.Join(t.TempDir(), "users.db"), Fields: plain(), Logger: slog.New(slog.DiscardHandler)}
}

// openUsers opens a database as a service does.
func openUsers(t testing.TB, database models.Database, listMemory int) *models.Users {
	t.Helper()
	users, err := database.Open(context.Background(), listMemory)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = users.Close(context.Background()) })
	return users
}

// start serves an empty database, with the usual limits unless they are changed.
func start(t *testing.T, change ...func(*limits)) *service {
	t.Helper()
	return startOn(t, newDatabase(t), Access{}, change...)
}

// startOn serves a database.
func startOn(t *testing.T, database models.Database, access Access, change ...func(*limits)) *service {
	t.Helper()
	users := openUsers(t, database, 1<<20)
	s := startService(t, Service{Users: users, Access: access}, nil, change...)
	s.Users, s.Database = users, database
	return s
}

// startWith serves one handler at / behind every middleware.
func startWith(t *testing.T, handler gin.HandlerFunc, change ...func(*limits)) *service {
	t.Helper()
	return startService(t, Service{}, handler, change...)
}

// noFigures are the metrics of a storage that counts nothing.
func noFigures() *Metrics {
	return NewMetrics("v1", "abc", func() models.Stats { return models.Stats{} }, func() time.Time { return time.Unix(0, 0) })
}

func startService(t *testing.T, served Service, handler gin.HandlerFunc, change ...func(*limits)) *service {
	t.Helper()
	l := usual()
	for _, change := range change {
		change(&l)
	}
	s := &service{log: &lines{}, ended: make(chan error, 1)}
	served.Fields, served.Metrics = plain(), noFigures()
	served.Logger = slog.New(slog.NewTextHandler(s.log, nil))
	s.served = served
	all, lost := func(ending context.Context) http.Handler { return served.handler(ending, l) }, (<-chan struct{})(nil)
	if handler != nil {
		engine := served.engine(l)
		engine.Any("/", handler)
		all = func(context.Context) http.Handler { return engine }
	} else {
		lost = served.Users.Replaced()
	}
	listener := listen(t)
	s.address = listener.Addr().String()
	s.url = "http://" + s.address
	stop, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	go func() { s.ended <- l.serve(stop, narrow{listener}, lost, all, served.Logger) }()
	t.Cleanup(func() { _ = s.end(t) })
	return s
}

// narrow accepts connections that hold little of what a client does not take. Usually this system takes 4 MiB for it.
type narrow struct{ net.Listener }

func (n narrow) Accept() (net.Conn, error) {
	accepted, err := n.Listener.Accept()
	if err == nil {
		_ = accepted.(*net.TCPConn).SetWriteBuffer(256 << 10)
	}
	return accepted, err
}

// end stops the service and returns why it ended. What it logged is complete then.
func (s *service) end(t *testing.T) error {
	t.Helper()
	s.stop()
	select {
	case err := <-s.ended:
		s.ended <- err
		return err
	case <-time.After(patience):
		t.Fatal("the service does not end")
		return nil
	}
}

// waitForLog waits until the log has a text.
func (s *service) waitForLog(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(patience); !strings.Contains(s.log.String(), text); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the log never says %q:\n%s", text, s.log)
		}
	}
}

// create stores a user beside HTTP, at a time that a test can expect.
func (s *service) create(t *testing.T, name, email string) {
	t.Helper()
	if _, err := s.Create(t.Context(), models.NewUser{Name: name, Email: email}); err != nil {
		t.Fatal(err)
	}
	s.others(t, "UPDATE users SET created_at = '2026-11-20 15:42:07'")
}

// others writes as another program does.
func (s *service) others(t testing.TB, statement string) {
	t.Helper()
	other, err := sql.Open("sqlite", s.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close() //nolint:errcheck // it has changed what it should
	if _, err := other.Exec(statement); err != nil {
		t.Fatal(err)
	}
}

// reply is an answer that was read to its end.
type reply struct {
	status int
	header http.Header
	body   string
}

// do sends a request with header lines ("Name: value") and reads the answer.
func (s *service) do(t *testing.T, method, path, body string, headers ...string) reply {
	t.Helper()
	request, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		request.Header.Add(name, value)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // it is read to its end
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatalf("%s %s: %v after %d bytes", method, path, err, len(text))
	}
	return reply{answer.StatusCode, answer.Header, string(text)}
}

// wire is a connection on which a test writes what it likes.
type wire struct {
	*net.TCPConn
	reader *bufio.Reader
	t      *testing.T
}

func (s *service) dial(t *testing.T) *wire {
	t.Helper()
	conn, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	return &wire{conn.(*net.TCPConn), bufio.NewReader(conn), t}
}

func (w *wire) send(format string, values ...any) {
	w.t.Helper()
	_ = w.SetDeadline(time.Now().Add(patience))
	if _, err := fmt.Fprintf(w.TCPConn, format, values...); err != nil {
		w.t.Fatal(err)
	}
}

// answer reads one answer.
func (w *wire) answer() reply {
	w.t.Helper()
	answer, err := http.ReadResponse(w.reader, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return reply{answer.StatusCode, answer.Header, string(text)}
}

// rest reads until the connection ends, and returns how it did: nil for a close.
func (w *wire) rest() (string, error) {
	w.t.Helper()
	text, err := io.ReadAll(w.reader)
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		w.t.Fatalf("the connection stays open after %q", text)
	}
	return string(text), err
}
