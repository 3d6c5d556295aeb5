//go:build postgres

package postgres

import (
	"encoding/json"
	"fmt"
	"testing"

	"users-api/tests/postgresql"
)

// The service looks for the end of the feed many times a second while clients wait for changes.
func TestWhereTheFeedEndsIsFoundInAFewPagesOfAnyFeed(t *testing.T) {
	t.Parallel()
	for name, isHeld := range map[string]bool{"a feed": false, "a feed that a transaction holds back": true} {
		t.Run(name, func(t *testing.T) {
			_, url := openRecorded(t, "autovacuum=off")
			if isHeld {
				begin(t, url).do("SELECT pg_current_xact_id()")
			}
			short := pagesOfEnds(t, url, 1000)
			long := pagesOfEnds(t, url, 999_000)
			// Both ends of an index of 1,000,000 entries are one page further down.
			if short == 0 || long > short+2 {
				t.Errorf("%d pages are read with 1,000 entries, and %d with 1,000,000", short, long)
			}
		})
	}
}

// pagesOfEnds adds entries to a feed, and returns how many pages feedEnds then reads.
func pagesOfEnds(t *testing.T, url string, entries int) int {
	t.Helper()
	postgresql.SQL(t, url, fmt.Sprintf("INSERT INTO users_changes (op, id) SELECT 'created', n FROM generate_series(1, %d) n", entries),
		"ANALYZE users_changes")
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
