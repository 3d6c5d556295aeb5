//go:build postgres

package postgres

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"users-api/tests/postgresql"
)

// The service looks for the ends of the feed many times a second while clients wait for changes, and for each list.
func TestWhereTheFeedEndsIsFoundInAFewPagesOfAnyFeed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name             string
		entries          int
		isHeld, isPruned bool
	}{
		{name: "1,000,000 entries", entries: 1_000_000},
		{name: "1,000,000 entries that a transaction holds back", entries: 1_000_000, isHeld: true},
		{name: "100,000 entries that were deleted because of their age", entries: 100_000, isPruned: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			users, url := openRecorded(t, "autovacuum=off")
			if test.isHeld {
				begin(t, url).do("SELECT pg_current_xact_id()")
			}
			addEntries(t, url, 1000)
			short := pagesOfEnds(t, url)
			addEntries(t, url, test.entries-1000)
			if test.isPruned {
				prune(t, users, time.Now().Add(time.Hour))
			}
			// Both ends of a longer index are one page further down.
			if long := pagesOfEnds(t, url); short == 0 || long > short+2 {
				t.Errorf("%d pages are read with 1,000 entries, and %d later", short, long)
			}
		})
	}
}

func addEntries(t *testing.T, url string, n int) {
	t.Helper()
	postgresql.SQL(t, url, fmt.Sprintf("INSERT INTO users_changes (op, id) SELECT 'created', n FROM generate_series(1, %d) n", n),
		"ANALYZE users_changes")
}

// pagesOfEnds returns how many pages feedEnds reads.
func pagesOfEnds(t *testing.T, url string) int {
	t.Helper()
	var plans []struct {
		Plan struct {
			Cached int `json:"Shared Hit Blocks"`
			Read   int `json:"Shared Read Blocks"`
		}
	}
	text := postgresql.Ask(t, url, "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+feedEnds)
	if err := json.Unmarshal([]byte(text), &plans); err != nil || len(plans) != 1 {
		t.Fatalf("%v: %s", err, text)
	}
	return plans[0].Plan.Cached + plans[0].Plan.Read
}
