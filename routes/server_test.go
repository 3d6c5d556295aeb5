package routes

import (
	"context"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"users-api/models"
)

// docs/reliability.md tells operators these.
func TestNoClientKeepsAConnectionLongerThanIsDocumented(t *testing.T) {
	t.Parallel()
	want := limits{header: 10 * time.Second, body: 20 * time.Second, idle: 2 * time.Minute,
		probe: 2 * time.Second, stop: 6 * time.Second, heartbeat: 15 * time.Second,
		rate: 1024, behind: time.Minute, connections: 4096,
		largeBodies: 16, imports: 8, dryRuns: 4, importBytes: 512 << 20}
	if got := usual(); got != want {
		t.Errorf("the limits are %+v", got)
	}
	logger := slog.New(slog.DiscardHandler)
	server := want.server(context.Background(), nil, logger)
	if server.ReadHeaderTimeout != want.header || server.ReadTimeout != want.body || server.IdleTimeout != want.idle || server.MaxHeaderBytes != 32<<10 {
		t.Errorf("the server gives headers %s, and idle connections %s", server.ReadHeaderTimeout, server.IdleTimeout)
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

func silent(users *models.Users) Service {
	return Service{Users: users, Fields: plain(), Metrics: noFigures(), Logger: slog.New(slog.DiscardHandler)}
}

func TestServeEndsWhenItCannotAccept(t *testing.T) {
	t.Parallel()
	listener := listen(t)
	_ = listener.Close()
	err := silent(openUsers(t, newDatabase(t), 0)).Serve(t.Context(), listener)
	if err == nil || !strings.HasPrefix(err.Error(), "cannot accept connections: ") {
		t.Error(err)
	}
}

// A stop must be able to cut every connection off, and that must not keep those that are over.
func TestAConnectionThatIsClosedIsForgotten(t *testing.T) {
	t.Parallel()
	l := listener{listen(t), usual(), t.Context()}
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close() //nolint:errcheck // nothing was sent
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	left := weak.Make(accepted.(*conn))
	_ = accepted.Close()
	accepted = nil
	runtime.GC()
	if left.Value() != nil {
		t.Error("the connection is kept")
	}
}
