package routes

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"users-api/database"
	"users-api/models"
	"users-api/tests/program"
)

// TestMain runs more tests at a time than there are processors: most of them wait for a disk, a client or a time limit.
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "8")
	m.Run()
}

// service is a server within the test, with other limits than the program's. It is asked as the program is.
type service struct {
	*program.Program
	path  string // of its database
	stop  context.CancelFunc
	ended chan error
}

// plain are the fields of the specification.
func plain() models.Fields { return models.NewFields()[:2] }

func location(path string) database.Location {
	return database.Location{Path: path, Fields: plain(), KeepChanges: time.Hour, Logger: slog.New(slog.DiscardHandler)}
}

func openUsers(t *testing.T, path string, listMemory int) *database.Users {
	t.Helper()
	users, err := location(path).Open(context.Background(), listMemory)
	program.Must(t, err)
	t.Cleanup(func() { _ = users.Close(context.Background()) })
	return users
}

// start serves an empty database, with the usual limits unless they are changed.
func start(t *testing.T, change ...func(*limits)) *service {
	t.Helper()
	path := filepath.Join(t.TempDir(), "users.db")
	s := serve(t, Service{Users: openUsers(t, path, 1<<20)}, nil, change...)
	s.path = path
	return s
}

// startWith serves one handler at / behind every middleware.
func startWith(t *testing.T, handler gin.HandlerFunc, change ...func(*limits)) *service {
	t.Helper()
	return serve(t, Service{}, handler, change...)
}

// noFigures are the metrics of a storage that counts nothing.
func noFigures() *Metrics {
	return NewMetrics("v1", "abc", prometheus.NewRegistry(), time.Now)
}

func silent(users *database.Users) Service {
	return Service{Users: users, Metrics: noFigures(), Logger: slog.New(slog.DiscardHandler)}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	program.Must(t, err)
	return listener
}

func serve(t *testing.T, served Service, handler gin.HandlerFunc, change ...func(*limits)) *service {
	t.Helper()
	l := usual()
	for _, change := range change {
		change(&l)
	}
	accept := listen(t)
	stop, cancel := context.WithCancel(context.Background())
	ending, end := context.WithCancel(stop)
	address := "http://" + accept.Addr().String()
	s := &service{Program: program.At(address), stop: cancel, ended: make(chan error, 1)}
	served.ImportMax, served.ChangesKeep = 512<<20, time.Hour
	served.Metrics, served.Logger = noFigures(), slog.New(slog.NewTextHandler(s.LogWriter(), nil))
	var lost <-chan struct{}
	var all http.Handler
	if handler != nil {
		bodies := newBodies(l)
		engine := served.engine(bodies)
		engine.Any("/", bodies.admit(bodies.large, bodies.large, smallBody), handler)
		all = l.paced(engine)
	} else {
		all, lost = served.handler(ending, l), served.Users.Replaced
	}
	go func() { s.ended <- l.serve(stop, end, narrow{accept}, lost, all, served.Logger) }()
	t.Cleanup(func() { s.end(t) })
	return s
}

// narrow accepts connections that hold little of what a client does not take. Usually this system takes 4 MiB for it, and who
// takes 4 KiB at a time would need minutes for what is left of a response that was cut off.
type narrow struct{ net.Listener }

func (n narrow) Accept() (net.Conn, error) {
	accepted, err := n.Listener.Accept()
	if err == nil {
		_ = accepted.(*net.TCPConn).SetWriteBuffer(16 << 10)
	}
	return accepted, err
}

// end stops the service, which is no failure. What it logged is complete then.
func (s *service) end(t *testing.T) {
	t.Helper()
	s.stop()
	if err := await(t, "the service ends", s.ended); err != nil {
		t.Errorf("the service ended with %v", err)
	}
	s.ended <- nil
}

// await returns what comes, and ends the test if it does not.
func await[T any](t *testing.T, what string, comes <-chan T) (came T) {
	t.Helper()
	select {
	case came = <-comes:
	case <-time.After(program.Patience):
		t.Fatal("never: " + what)
	}
	return came
}

// docs/reliability.md tells operators these.
func TestTheLimitsOfClientsAreThoseThatAreDocumented(t *testing.T) {
	t.Parallel()
	want := limits{header: 10 * time.Second, body: 20 * time.Second, idle: 2 * time.Minute,
		probe: 2 * time.Second, stop: 6 * time.Second,
		behind:      time.Minute,
		largeBodies: 16, batches: 4, readBatches: 2, imports: 8, dryRuns: 4}
	program.Expect(t, "the limits", fmt.Sprintf("%+v", usual()), fmt.Sprintf("%+v", want))
	server := want.server(context.Background(), nil, slog.New(slog.DiscardHandler))
	if server.ReadHeaderTimeout != want.header || server.ReadTimeout != want.body || server.IdleTimeout != want.idle ||
		server.MaxHeaderBytes != 32<<10 {
		t.Errorf("the server gives headers %s and %d bytes, bodies %s, and idle connections %s",
			server.ReadHeaderTimeout, server.MaxHeaderBytes, server.ReadTimeout, server.IdleTimeout)
	}
}
