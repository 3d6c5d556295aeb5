//go:build postgres

package availability

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"users-api/tests/postgresql"
	"users-api/tests/program"
)

// onServer starts the program on a new database of a server.
func onServer(t *testing.T, server *postgresql.Server, settings ...string) (p *program.Program, url string) {
	t.Helper()
	url = server.NewDatabase(t)
	return program.Serve(t, append(settings, "DATABASE_URL="+url)...), url
}

// What may become of a server while the program uses it, and how it comes back.
var outages = map[string]struct {
	away, back func(*postgresql.Server, testing.TB)
}{
	"stopped": {(*postgresql.Server).Stop, startAgain},
	"killed":  {(*postgresql.Server).Kill, startAgain},
	"paused":  {(*postgresql.Server).Pause, (*postgresql.Server).Resume},
}

var (
	small = []string{"GET /api/users", "GET /api/users/1", "GET /api/users?limit=1", "GET /api/users?email=ada@example.org",
		"POST /api/users", "PATCH /api/users/1", "DELETE /api/users/1", "GET /api/changes"}
	searching = []string{"GET /api/users?q=a", "GET /api/users.csv"}
)

func startAgain(server *postgresql.Server, t testing.TB) { server.StartAgain(t) }

func TestWhileTheServerIsAwayRequestsFailSoonAndAllComesBackByItself(t *testing.T) {
	t.Parallel()
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := postgresql.Start(t)
			p, _ := onServer(t, server, "ADMIN_PORT=0")
			p.Create(t, "Ada", "ada@example.org")
			list := p.Do(t, "GET", "/api/users", "").Body
			outage.away(server, t)
			expectAway(t, p)
			outage.back(server, t)
			program.WaitFor(t, "it is ready again", func() bool { return program.AskAdmin(t, p, "/readyz").Status == 200 })
			p.Do(t, "GET", "/api/users", "").Expect(t, 200, list[:len(list)-1]+"…")
			p.Create(t, "Alan", "alan@example.org")
			if users := p.List(t); users[len(users)-1].Name != "Alan" {
				t.Errorf("the users are %v", users)
			}
			program.Forbid(t, p.Log(), "goroutine", "ada@", "alan@")
		})
	}
}

// expectAway fails the test unless each request is told soon that the server does not answer, whatever requests before it wait
// for.
func expectAway(t *testing.T, p *program.Program) {
	t.Helper()
	var wait sync.WaitGroup
	for _, request := range append(searching, small...) {
		wait.Go(func() { expectNoAnswer(t, p, request) })
	}
	for _, request := range small {
		for _, later := range []time.Duration{time.Second, 1100 * time.Millisecond, 3 * time.Second} {
			wait.Go(func() { time.Sleep(later); expectNoAnswer(t, p, request) })
		}
	}
	p.Do(t, "GET", "/health", "").Expect(t, 200, "…")
	program.AskAdmin(t, p, "/readyz").Expect(t, 503, "…storage does not answer…")
	wait.Wait()
}

func expectNoAnswer(t *testing.T, p *program.Program, request string) {
	t.Helper()
	began := time.Now()
	method, path, _ := strings.Cut(request, " ")
	answer, err := p.Send(method, path, program.Body("Alan", "away@example.org"))
	if err != nil || answer.Status != 500 || !strings.Contains(answer.Body, `{"error":"`) {
		t.Errorf("%s is answered %d %s, %v", request, answer.Status, answer.Body, err)
	}
	if took := time.Since(began); took > 9*time.Second { // 5, on a machine that is not busy; 10, if it waited for another first
		t.Errorf("%s is answered after %s", request, took)
	}
}

func TestAStartWaitsForItsServer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		through func(t *testing.T, server *postgresql.Server, url string) string
		says    string
	}{
		"that it reaches itself": {func(_ *testing.T, _ *postgresql.Server, url string) string {
			return url
		}, "connection refused"},
		"behind a pooler": {func(t *testing.T, server *postgresql.Server, url string) string {
			return server.PgBouncer(t, "server_login_retry=2")(url)
		}, "waiting for PostgreSQL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := postgresql.Start(t)
			url := test.through(t, server, server.NewDatabase(t))
			program.Serve(t, "DATABASE_URL="+url).Kill(t) // the pooler has known the server
			server.Stop(t)
			p := program.Launch(t, program.Path(), "DATABASE_URL="+url)
			p.WaitForLog(t, test.says)
			server.StartAgain(t)
			p.WaitForAddress(t)
			p.Create(t, "Ada", "ada@example.org")
		})
	}
}

func TestTheDataDirectoryIsLeftAlone(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{"RUN_AS=0", "RUN_AS=65534"} { // as root, the second becomes another user
		p := program.Serve(t, setting)
		p.Create(t, "Ada", "ada@example.org")
		p.Do(t, "GET", program.CSV, "")
		p.Do(t, "POST", program.CSV, "name,email\nAlan,alan\n")
		p.Stop(t)
		program.ExpectNoDirectory(t, p.DataDir)
	}
}

func TestThePasswordOfTheDatabaseIsNeverShown(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t, postgresql.Scram)
	p, url := onServer(t, server, "LOG_LEVEL=debug", "ADMIN_PORT=0")
	if !strings.Contains(p.Line(t, "listening"), fmt.Sprintf("database=postgres://127.0.0.1:%d/users", server.Port)) {
		t.Errorf("the log does not name the database:\n%s", p.Log())
	}
	p.Create(t, "Ada", "ada@example.org")
	server.Stop(t)
	refused := p.Do(t, "GET", "/api/users", "").Body
	server.StartAgain(t)
	wrong := program.Launch(t, program.Path(), "DATABASE_URL="+strings.Replace(url, "users@", "users%21@", 1))
	program.ExpectRefusal(t, wrong, "check the user and the password")
	missing := program.Launch(t, program.Path(), "DATABASE_URL="+server.URL("nowhere"))
	program.ExpectRefusal(t, missing, "nowhere", "createdb")
	for _, text := range []string{p.Log(), refused, wrong.Log(), missing.Log(), program.AskAdmin(t, p, "/metrics").Body} {
		program.Forbid(t, text, "pass/word", "pass%2F", "the%23users", "the#users")
	}
}

func TestMoreClientsThanConnectionsAreServed(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t, "max_connections=20")
	p, url := onServer(t, server)
	both := []*program.Program{p, program.Serve(t, "DATABASE_URL="+url), program.Serve(t, "DATABASE_URL="+url)} // 24 connections at most
	var wait sync.WaitGroup
	for client := range 200 {
		wait.Go(func() {
			for n := range 3 {
				email := fmt.Sprintf("%d-%d", client, n)
				answer, err := both[client%3].Send("POST", "/api/users", program.Body("n", email))
				if err != nil || answer.Status != 201 {
					t.Errorf("a creation is answered %d %s, %v", answer.Status, answer.Body, err)
					return
				}
				found, err := both[(client+1)%3].Send("GET", "/api/users?email="+email, "")
				if err != nil || found.Status != 200 || found.Body == "[]" {
					t.Errorf("the user is answered %d %s, %v", found.Status, found.Body, err)
				}
			}
		})
	}
	wait.Wait()
	if users := p.List(t); len(users) != 600 {
		t.Errorf("%d users are listed", len(users))
	}
}

// The table is on a small disk of its own, because PostgreSQL ends when its log has no room.
func TestAFullDiskOfTheServerRefusesWritesAndNothingElse(t *testing.T) {
	t.Parallel()
	program.NeedsRoot(t)
	server := postgresql.Start(t)
	url := server.NewDatabase(t)
	place := program.SharedDirectory(t, 0)
	program.Mount(t, "-t", "tmpfs", "-o", fmt.Sprintf("size=4m,mode=700,uid=%d", postgresql.UID(t)), "tmpfs", place)
	postgresql.SQL(t, url, "CREATE TABLESPACE small LOCATION '"+place+"'")
	postgresql.SQL(t, url, "SET default_tablespace = small; CREATE TABLE ballast AS SELECT repeat('x', 1000) FROM generate_series(1, 1000)",
		`SET default_tablespace = small; CREATE TABLE users (id bigserial PRIMARY KEY, name text, email text UNIQUE,
			created_at timestamptz DEFAULT now())`)
	p := program.Serve(t, "DATABASE_URL="+url)
	create := func(n int) program.Answer {
		return p.Do(t, "POST", "/api/users", program.Body(strings.Repeat("n", 1500), fmt.Sprint(n)))
	}
	last, created := create(0), 0
	for ; last.Status == 201 && created < 20_000; last = create(created) {
		created++
	}
	last.Expect(t, 500, "…(SQLSTATE 53100)…")
	if users := p.List(t); len(users) != created {
		t.Errorf("%d users are listed of %d", len(users), created)
	}
	postgresql.SQL(t, url, "DROP TABLE ballast")
	p.Create(t, "Ada", "ada@example.org")
}
