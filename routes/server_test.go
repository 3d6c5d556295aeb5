package routes

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"users-api/tests/program"
)

// docs/reliability.md tells operators these.
func TestTheLimitsOfClientsAreThoseThatAreDocumented(t *testing.T) {
	t.Parallel()
	want := limits{header: 10 * time.Second, body: 20 * time.Second, idle: 2 * time.Minute,
		probe: 2 * time.Second, stop: 6 * time.Second,
		behind:      time.Minute,
		largeBodies: 16, batches: 4, imports: 8, dryRuns: 4}
	program.Expect(t, "the limits", fmt.Sprintf("%+v", usual()), fmt.Sprintf("%+v", want))
	server := want.server(context.Background(), nil, slog.New(slog.DiscardHandler))
	if server.ReadHeaderTimeout != want.header || server.ReadTimeout != want.body || server.IdleTimeout != want.idle ||
		server.MaxHeaderBytes != 32<<10 {
		t.Errorf("the server gives headers %s and %d bytes, bodies %s, and idle connections %s",
			server.ReadHeaderTimeout, server.MaxHeaderBytes, server.ReadTimeout, server.IdleTimeout)
	}
}

func TestServeEndsWhenItCannotAccept(t *testing.T) {
	t.Parallel()
	accept := listen(t)
	_ = accept.Close()
	err := silent(openUsers(t, t.TempDir()+"/users.db", 0)).Prepare(t.Context())(accept)
	program.Expect(t, "the end", err, "cannot accept connections: …")
}
