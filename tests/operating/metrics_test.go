package operating

import (
	"fmt"
	"testing"
	"time"

	"users-api/tests/program"
)

func TestAScrapeHasEveryFigure(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "ADMIN_PORT=0", "CHANGES_KEEP=0") // the deletion of old changes is a commit
	for i := range 3 {
		p.Create(t, "Ada", fmt.Sprintf("ada%d@example.org", i))
	}
	p.List(t) // read
	p.List(t) // kept
	p.Create(t, "Alan", "alan@example.org")
	p.List(t) // read again

	// It is refused, and commits nothing.
	p.Do(t, "POST", "/api/users", program.Body("Ada", "ada0@example.org")).Expect(t, 500, "…")
	p.Do(t, "GET", "/api/users/1", "")
	p.Do(t, "GET", "/api/users/ada@example.org", "")
	p.Do(t, "GET", "/ada@example.org", "")
	p.Do(t, "ADA", "/api/users", "")
	p.Do(t, "BOB", "/bob", "")
	program.WaitFor(t, "every request is counted", func() bool {
		return program.Scrape(t, p)["http_requests_total"]["code=404 method=unknown route=unknown"] == 2
	})
	got := program.Scrape(t, p)
	want := map[string]float64{
		"code=201 method=POST route=/api/users": 4, "code=500 method=POST route=/api/users": 1, "code=200 method=GET route=/api/users": 3,
		"code=200 method=GET route=/api/users/:id": 1, "code=404 method=GET route=/api/users/:id": 1,
		"code=405 method=unknown route=unknown": 1, "code=404 method=unknown route=unknown": 2,
	}
	program.Expect(t, "the requests", got["http_requests_total"], want)
	lists := got["users_api_list_total"]
	read, cached := lists["result=read"], lists["result=cached"]
	isCached := program.PostgreSQL || cached == 1 // any commit on the server makes it read the list again
	if uncached, counted := lists["result=uncached"]; uncached != 0 || !counted || read == 0 || read+cached != 3 || !isCached {
		t.Errorf("the lists are %v", lists)
	}
	durations := got["http_request_duration_seconds_count"]
	if durations["method=POST route=/api/users"] != 5 || durations["method=unknown route=unknown"] != 3 || len(durations) != 4 {
		t.Errorf("the durations are of %v", durations)
	}
	for name, n := range map[string]float64{
		"users_api_commit_writes_sum": 4, "users_api_commit_writes_count": 4,
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
		program.Expect(t, "how many "+name+" there are", len(got[name]), 1)
	}
	text := program.AskAdmin(t, p, "/metrics").Body // in which the commits of at most so many writes are counted, up to each number
	program.Expect(t, "the sizes of commits", text, `…users_api_commit_writes_bucket{le="1"} 4…users_api_commit_writes_bucket{le="512"} 4…`)
	program.Forbid(t, text, "ada@", "ADA", "alan", "bob", "BOB", "example.org")
}

func TestMetricsSayHowFarTheFeedGoesBack(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "ADMIN_PORT=0")
	p.Create(t, "Ada", "a")
	p.Create(t, "Alan", "b")
	if program.PostgreSQL {
		program.OpenOther(t, p.DatabasePath()).Do("ANALYZE users_changes")
	}
	var figures map[string]map[string]float64
	program.WaitFor(t, "two or three entries are counted", func() bool {
		figures = program.Scrape(t, p)
		n := figures["users_api_changes_entries"][""]
		return n == 2 || n == 3
	})
	oldest := figures["users_api_changes_oldest_timestamp_seconds"][""]
	if age := time.Since(time.Unix(int64(oldest), 0)); age < 0 || age > time.Hour {
		t.Errorf("the oldest entry is %s old", age)
	}
}

func TestADeployersLimitsOfMemoryTakePrecedence(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "ADMIN_PORT=0", "GOMEMLIMIT=100MiB", "GOGC=50")
	figures := program.Scrape(t, p)
	program.Expect(t, "GOMEMLIMIT=100MiB", figures["go_gc_gomemlimit_bytes"][""], float64(100<<20))
	program.Expect(t, "GOGC=50", figures["go_gc_gogc_percent"][""], 50)
	if limit := program.Scrape(t, program.Serve(t, "ADMIN_PORT=0"))["go_gc_gomemlimit_bytes"][""]; limit > 1<<30 {
		t.Errorf("without GOMEMLIMIT the limit is %.0f bytes", limit)
	}
}
