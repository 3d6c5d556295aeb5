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
	all := []string{"/api/users", "/api/users", "/api/users.csv", "/api/users?q=a", "/api/users?count=true", "/api/users/1"}
	for name, hold := range map[string]func(t *testing.T, server *postgresql.Server, url string, read func(...string)){
		"a paused server": func(t *testing.T, server *postgresql.Server, _ string, read func(...string)) {
			server.Pause(t)
			read(all...)
		},
		"a search of a paused server": func(t *testing.T, server *postgresql.Server, url string, read func(...string)) {
			lockTable(t, url)
			read("/api/users?q=a")
			server.WaitUntil(t, "1", "SELECT count(*)::text FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
			server.Pause(t)
		},
		"a locked table": func(t *testing.T, server *postgresql.Server, url string, read func(...string)) {
			lockTable(t, url)
			read(all...)
			server.WaitUntil(t, "true", "SELECT (count(*) > 1)::text FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := postgresql.Start(t)
			url := server.NewDatabase(t)
			p := program.Serve(t, "DATABASE_URL="+url)
			p.Create(t, "Ada", "ada@example.org")
			hold(t, server, url, func(paths ...string) {
				for _, path := range paths {
					conn := p.Dial(t)
					conn.Send("GET %s HTTP/1.1\r\nHost: users\r\n\r\n", path)
				}
				_, err := p.Send("GET", "/health", "") // it is answered when the others have arrived
				if err != nil {
					t.Error(err)
				}
			})
			if took := p.Stop(t); took > 10*time.Second { // then a container engine kills; 5 to 7.8, on a machine that is not busy
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
