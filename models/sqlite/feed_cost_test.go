package sqlite

import (
	"os"
	"testing"

	"users-api/models/sqlite/sqlitetest"
	"users-api/models/storetest"
)

// The service looks for the end of the feed many times a second while clients wait for changes. A statement that reads all
// of the feed fails here, because pages in the middle cannot be read.
func TestTheEndsOfTheFeedAreFoundWithoutReadingWhatIsBetween(t *testing.T) {
	storetest.OneGoroutine(t)
	t.Parallel()
	path := sqlitetest.File(t, sqlitetest.Table, three)
	if err := RecordChanges(ctx, path); err != nil {
		t.Fatal(err)
	}
	damageFeed(t, path)
	users, err := Open(ctx, path, storetest.Fields(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer users.Close(ctx) //nolint:errcheck // it only reads
	newest, err := users.Cursor(ctx)
	if err != nil || newest == "" {
		t.Errorf("the newest cursor is %q: %v", newest, err)
	}
	changes, err := users.Changes(ctx, newest, 1000)
	if err != nil || len(changes.Entries) > 0 {
		t.Errorf("after the newest there are %d entries: %v", len(changes.Entries), err)
	}
	if changes, err = users.Changes(ctx, "", 3); err != nil || len(changes.Entries) != 3 {
		t.Errorf("of the oldest 3 there are %d: %v", len(changes.Entries), err)
	}
	if _, err = users.Changes(ctx, "", 1_000_000); err == nil {
		t.Error("all of the feed can be read: it is not damaged")
	}
}

// damageFeed adds 100,000 entries, and makes the page in their middle unreadable.
func damageFeed(t *testing.T, path string) {
	t.Helper()
	db := sqlitetest.Open(t, path)
	sqlitetest.Run(t, db, `INSERT INTO users_changes (op, id, at)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100000) SELECT 'changed', i % 3 + 1, i FROM n`,
		"PRAGMA journal_mode = DELETE")
	var start, size int64
	if err := db.QueryRow(`SELECT pgoffset, pgsize FROM dbstat WHERE name = 'users_changes' AND pagetype = 'leaf'
		ORDER BY path LIMIT 1 OFFSET (SELECT count(*) / 2 FROM dbstat WHERE name = 'users_changes')`).Scan(&start, &size); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // what was written was checked
	if _, err := file.WriteAt(make([]byte, size), start); err != nil {
		t.Fatal(err)
	}
}
