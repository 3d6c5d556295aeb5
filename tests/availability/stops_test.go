//go:build postgres

package availability

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"users-api/tests/postgresql"
	"users-api/tests/program"
)

// What is being read when the signal comes holds up no stop, although the server is paused or the table is locked.
func TestAStopTakesAtMost8sDuringAnyRead(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ isLocked, isPaused bool }{
		"of a paused server":                           {false, true},
		"of a locked table":                            {true, false},
		"of a locked table whose server is paused too": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := postgresql.Start(t)
			p, url := onServer(t, server)
			p.Create(t, "Ada", "ada@example.org")
			if test.isLocked {
				lockTable(t, url)
			} else {
				server.Pause(t)
			}
			for _, path := range []string{"", "", ".csv", "?q=a", "?count=true", "/1"} {
				p.Dial(t).Send("GET /api/users%s HTTP/1.1\r\nHost: users\r\n\r\n", path)
			}
			p.Do(t, "GET", "/health", "") // is answered when the others have arrived
			if test.isLocked {
				const wait = "SELECT (count(*) > 1)::text FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
				server.WaitUntil(t, "true", wait)
			}
			if test.isLocked && test.isPaused {
				server.Pause(t)
			}
			// It is 5 to 7.8 s, on a machine that is not busy. A container engine kills after 10.
			if took := p.Stop(t); took > 10*time.Second {
				t.Errorf("it took %s:\n%s", took, p.Log())
			}
			server.Resume(t)
		})
	}
}

// lockTable locks the table until the test ends.
func lockTable(t *testing.T, url string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err == nil {
		_, err = conn.Exec(t.Context(), "BEGIN; LOCK TABLE users")
	}
	program.Must(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
}
