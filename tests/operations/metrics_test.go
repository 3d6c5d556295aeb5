package operations

import (
	"fmt"
	"maps"
	"os"
	"strings"
	"syscall"
	"testing"

	"users-api/tests/program"
)

func TestAScrapeHasEveryFigure(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "ADMIN_PORT=0")
	for i := range 3 {
		p.Create(t, "Ada", fmt.Sprintf("ada%d@example.org", i))
	}
	p.List(t) // read
	p.List(t) // kept
	p.Create(t, "Alan", "alan@example.org")
	p.List(t) // patched, or read again where the commit took long; with PostgreSQL it is read again
	p.Do(t, "GET", "/api/users/1", "")
	p.Do(t, "GET", "/api/users/ada@example.org", "")
	p.Do(t, "GET", "/ada@example.org", "")
	p.Do(t, "ADA", "/api/users", "")
	p.Do(t, "BOB", "/bob", "")
	program.WaitFor(t, "every request is counted", func() bool {
		return program.Scrape(t, p)["http_requests_total"]["code=404 method=unknown route=unknown"] == 1
	})
	got := program.Scrape(t, p)
	want := map[string]float64{
		"code=201 method=POST route=/api/users": 4, "code=200 method=GET route=/api/users": 3,
		"code=200 method=GET route=/api/users/:id": 1, "code=404 method=GET route=/api/users/:id": 1,
		"code=404 method=GET route=unknown": 1, "code=405 method=unknown route=unknown": 1,
		"code=404 method=unknown route=unknown": 1,
	}
	if !maps.Equal(got["http_requests_total"], want) {
		t.Errorf("the requests are %v, want %v", got["http_requests_total"], want)
	}
	lists := got["users_api_list_total"]
	read, patched, cached := lists["result=read"], lists["result=patched"], lists["result=cached"]
	isCached := program.PostgreSQL || cached == 1 // any commit on the server makes it read the list again
	if streamed, counted := lists["result=streamed"]; streamed != 0 || !counted || read == 0 || read+patched+cached != 3 || !isCached {
		t.Errorf("the lists are %v", lists)
	}
	durations := got["http_request_duration_seconds_count"]
	if durations["method=POST route=/api/users"] != 4 || durations["method=unknown route=unknown"] != 2 || len(durations) != 5 {
		t.Errorf("the durations are of %v", durations)
	}
	for name, n := range map[string]float64{
		"users_api_commits_total": 4, "users_api_commit_writes_sum": 4, "users_api_commit_writes_count": 4,
		"users_api_changes_entries": 0, "users_api_changes_oldest_timestamp_seconds": 0, "users_api_changes_lag_seconds": 0,
		"users_api_changes_followers":             0,
		"users_api_last_backup_timestamp_seconds": 0, "http_requests_in_flight": 0,
		"users_api_database_bytes": program.DatabaseBytes(t, p), "users_api_wal_bytes": float64(program.WALBytes(t, p)),
	} {
		if value, there := got[name][""]; !there || value != n {
			t.Errorf("%s is %v, want %v", name, got[name], n)
		}
	}
	for _, name := range []string{"users_api_build_info", "go_goroutines", "process_resident_memory_bytes"} {
		if len(got[name]) != 1 {
			t.Errorf("%s is %v", name, got[name])
		}
	}
	program.Forbid(t, program.AskAdmin(t, p, "/metrics").Body, "ada@", "ADA", "alan", "bob", "BOB", "example.org")
}

func TestTheAdminPortIsApart(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "ADMIN_PORT=0", "LISTEN_ADDRESS=127.0.0.2", "API_KEY="+fullKey, "ALLOWED_HOSTS=a.example,127.0.0.2")
	port, found := strings.CutPrefix(program.Admin(t, p).URL, "http://127.0.0.2:")
	if !found {
		t.Errorf("the log says %s", program.Admin(t, p).URL)
	}
	expectClosed(t, port)
	for _, path := range []string{"/metrics", "/livez", "/readyz", "/debug/pprof/", "/debug/pprof/heap?debug=1"} {
		program.AskAdmin(t, p, path).Expect(t, 200, "…")
		askFor(t, p, "a.example", "GET "+path).Expect(t, 404, "…")
	}
	for _, path := range []string{"/", "/health", "/api/users"} {
		program.AskAdmin(t, p, path).Expect(t, 404, "…")
	}
}

func TestThereIsNoAdminPortUnlessItIsSet(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{"A=b", "ADMIN_PORT="} {
		p := program.Serve(t, setting)
		if listening, _ := p.Sockets(t); strings.Contains(p.Log(), "admin=") || listening != 1 {
			t.Errorf("it listens on %d sockets and logs %s", listening, p.Log())
		}
	}
}

// beginRequest sends a request without its last byte, }, which holds a stop up, and returns once it is under way.
func beginRequest(t *testing.T, p *program.Program, key string) *program.Conn {
	t.Helper()
	conn := p.Dial(t)
	conn.Send("POST /api/users HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\nContent-Length: 2\r\n\r\n{", key)
	program.WaitFor(t, "the request is under way", func() bool { return program.Scrape(t, p)["http_requests_in_flight"][""] == 1 })
	return conn
}

func TestAServiceThatStopsIsNotReady(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "ADMIN_PORT=0")
	program.AskAdmin(t, p, "/readyz").Expect(t, 200, "ok\n")
	conn := beginRequest(t, p, fullKey)
	p.Signal(syscall.SIGTERM)
	p.WaitForLog(t, "stopping")
	program.AskAdmin(t, p, "/readyz").Expect(t, 503, "the service is stopping\n")
	program.AskAdmin(t, p, "/livez").Expect(t, 200, "ok\n")
	conn.Send("}")
	conn.Answer().Expect(t, 400, "…")
	p.ExpectEnd(t, 0)
}

func TestAFileThatIsTakenAwayMakesTheServiceNotReady(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	p := program.Serve(t, "ADMIN_PORT=0")
	admin := program.Admin(t, p)
	conn := beginRequest(t, p, fullKey)
	program.Must(t, os.Remove(p.DatabasePath()))
	program.WaitFor(t, "it is not ready", func() bool {
		answer, err := admin.Send("GET", "/readyz", "")
		return err == nil && answer.Status == 503 && strings.Contains(answer.Body, "removed or replaced")
	})
	conn.Send("}")
	p.ExpectEnd(t, 1)
}

func TestADeployersLimitsOfMemoryTakePrecedence(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "ADMIN_PORT=0", "GOMEMLIMIT=100MiB", "GOGC=50")
	figures := program.Scrape(t, p)
	if limit := figures["go_gc_gomemlimit_bytes"][""]; limit != 100<<20 {
		t.Errorf("GOMEMLIMIT=100MiB is %.0f bytes", limit)
	}
	if percent := figures["go_gc_gogc_percent"][""]; percent != 50 {
		t.Errorf("GOGC=50 is %.0f", percent)
	}
	if limit := program.Scrape(t, program.Serve(t, "ADMIN_PORT=0"))["go_gc_gomemlimit_bytes"][""]; limit > 1<<30 {
		t.Errorf("without GOMEMLIMIT the limit is %.0f bytes", limit)
	}
}
