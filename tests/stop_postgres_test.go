//go:build postgres

package tests

import (
	"net/url"
	"sync"
	"syscall"
	"testing"
	"time"

	"users-api/tests/postgresql"
	"users-api/tests/program"
)

// What is being read when the signal comes holds up no stop, although the server is paused and answers nothing.
func TestAStopTakesAtMost8sWhateverIsRead(t *testing.T) {
	t.Parallel()
	for name, paths := range map[string][]string{
		"begun while it is paused": {"/api/users", "/api/users", "/api/users.csv", "/api/users?count=true", "/api/users/1"},
		"a search under way":       {"/api/users?q=a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := postgresql.Start(t)
			p := start(t, "DATABASE_URL="+slowToSearch(t, server))
			var wait sync.WaitGroup
			read := func() {
				for _, path := range paths {
					wait.Go(func() { _, _ = p.Send("GET", path, "") })
				}
			}
			if name == "a search under way" {
				read()
				server.WaitUntil(t, "1", "SELECT count(*)::text FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
			}
			server.Pause(t)
			defer server.Resume(t)
			if name != "a search under way" {
				read()
			}
			expectStop(t, p)
			wait.Wait()
		})
	}
}

// slowToSearch returns the URL of a database with a user that a role needs a minute to see.
func slowToSearch(t *testing.T, server *postgresql.Server) string {
	t.Helper()
	owner := server.NewDatabase(t)
	first := start(t, "DATABASE_URL="+owner)
	first.Create(t, "Ada", "ada@example.org")
	first.Stop(t)
	postgresql.SQL(t, owner, "CREATE ROLE slow LOGIN", "GRANT ALL ON users TO slow", "ALTER TABLE users ENABLE ROW LEVEL SECURITY",
		"CREATE POLICY slow ON users USING (pg_sleep(60) IS NOT NULL)")
	place, err := url.Parse(owner)
	if err != nil {
		t.Fatal(err)
	}
	place.User = url.User("slow")
	return place.String()
}

// expectStop stops the program as a container engine does, and expects that it ends well in time.
func expectStop(t *testing.T, p *program.Program) {
	t.Helper()
	began := time.Now()
	p.Signal(syscall.SIGTERM)
	if code := p.Wait(t); code != 0 {
		t.Errorf("the exit code is %d", code)
	}
	if took := time.Since(began); took > 9*time.Second { // 6.5 to 7, on a machine that is not busy
		t.Errorf("it took %s:\n%s", took, p.Log())
	}
}
