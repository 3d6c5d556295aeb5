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
	p.List(t)                                                                                  // read again
	p.Do(t, "POST", "/api/users", program.Body("Ada", "ada0@example.org")).Expect(t, 500, "…") // commits nothing
	for _, request := range []string{"GET /api/users/1", "GET /api/users/ada@example.org", "GET /ada@example.org", "ADA /api/users", "BOB /bob"} {
		p.Ask(t, request, "")
	}
	program.WaitFor(t, "every request is counted", func() bool {
		return program.Scrape(t, p)["http_requests_total"]["code=404 method=unknown route=unknown"] == 2
	})
	got := program.Scrape(t, p)
	lists := got["users_api_list_total"]
	read, cached := lists["result=read"], lists["result=cached"] // on PostgreSQL any commit makes it read the list again
	if len(lists) != 3 || read+cached != 3 || !program.PostgreSQL && cached != 1 {
		t.Errorf("the lists are %v", lists)
	}
	one := func(value float64) map[string]float64 { return map[string]float64{"": value} }
	for name, want := range map[string]map[string]float64{
		"http_requests_total": {
			"code=201 method=POST route=/api/users": 4, "code=500 method=POST route=/api/users": 1, "code=200 method=GET route=/api/users": 3,
			"code=200 method=GET route=/api/users/:id": 1, "code=404 method=GET route=/api/users/:id": 1,
			"code=405 method=unknown route=unknown": 1, "code=404 method=unknown route=unknown": 2,
		},
		"http_request_duration_seconds_count": {
			"method=POST route=/api/users": 5, "method=GET route=/api/users": 3, "method=GET route=/api/users/:id": 2,
			"method=unknown route=unknown": 3,
		},
		"users_api_commit_writes_sum": one(4), "users_api_commit_writes_count": one(4), "users_api_changes_entries": one(0),
		"users_api_changes_oldest_timestamp_seconds": one(0), "users_api_changes_lag_seconds": one(0), "users_api_changes_followers": one(0),
		"users_api_last_backup_timestamp_seconds": one(0), "http_requests_in_flight": one(0),
		"users_api_database_bytes": one(program.DatabaseBytes(t, p)), "users_api_wal_bytes": one(float64(program.WALBytes(t, p))),
	} {
		program.Expect(t, name, got[name], want)
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
	program.WaitFor(t, "two or three entries are counted, the oldest of this hour", func() bool {
		figures := program.Scrape(t, p)
		n := figures["users_api_changes_entries"][""]
		age := time.Since(time.Unix(int64(figures["users_api_changes_oldest_timestamp_seconds"][""]), 0))
		return (n == 2 || n == 3) && 0 <= age && age < time.Hour
	})
}
