//go:build postgres

package postgres

import (
	"strings"
	"testing"
	"time"

	"users-api/models/storetest"
	"users-api/tests/postgresql"
)

// openPatched opens a database with 2,000 users that records changes, and whose list is in memory.
func openPatched(t testing.TB) (*Users, string) {
	t.Helper()
	users, url := openRecorded(t)
	postgresql.SQL(t, url, "INSERT INTO users (name, email) SELECT 'n', n FROM generate_series(1, 2000) n")
	storetest.Text(t, users)
	return users, url
}

// No trigger records these.
func TestWithAFeedNoListIsStaleAfterAChangeOfTheTable(t *testing.T) {
	t.Parallel()
	users, url := openPatched(t)
	for _, test := range []struct{ name, statements string }{
		{"a trigger that was disabled meanwhile", "ALTER TABLE users DISABLE TRIGGER users_changes_changed; " +
			"UPDATE users SET name = 'b' WHERE id = 3; ALTER TABLE users ENABLE ALWAYS TRIGGER users_changes_changed"},
		{"a trigger that was removed and made again", "DROP TRIGGER users_changes_changed ON users; " +
			"UPDATE users SET name = 'c' WHERE id = 3; " + createTrigger("public", "users_changes_changed")},
		{"a function that recorded nothing meanwhile", replaceFunction("BEGIN RETURN NULL; END") +
			"; UPDATE users SET name = 'd' WHERE id = 3; " + replaceFunction(recordFunction)},
		{"a column's new type", "ALTER TABLE users ALTER name TYPE varchar(200) USING name || '!'"},
		{"a column that is made again", "ALTER TABLE users DROP COLUMN name, ADD COLUMN name text NOT NULL DEFAULT 'e'"},
		{"entries that another program removed", "UPDATE users SET name = 'f' WHERE id = 3; TRUNCATE users_changes"},
		{"entries that another program deleted", "UPDATE users SET name = 'i' WHERE id = 3; DELETE FROM users_changes"},
		{"entries that were deleted because of their age", "UPDATE users SET name = 'g' WHERE id = 3; " +
			"UPDATE users_changes SET at = '2001-01-01'"},
		{"a table in its place", "CREATE TABLE users2 (LIKE users INCLUDING ALL); " +
			"INSERT INTO users2 (name, email) VALUES ('h', 'h'); " +
			"ALTER TABLE users RENAME TO users1; ALTER TABLE users2 RENAME TO users"},
		{"the table in its place again", "DROP TABLE users; ALTER TABLE users1 RENAME TO users"},
		{"TRUNCATE", "TRUNCATE users"},
	} {
		storetest.Create(t, users, test.name)
		storetest.Text(t, users)
		postgresql.SQL(t, url, test.statements)
		prune(t, users, dayBefore())
		got, _ := storetest.Text(t, users)
		if want := wholeText(t, users); got != want {
			t.Errorf("after %s the list is\n%.300s\nwant\n%.300s", test.name, got, want)
		}
	}
	if awaitCursor(t, users) == "" {
		t.Error("changes are no longer recorded")
	}
}

// The entry that commits late is deleted because of its age, and the one that stays as the place where the feed begins is
// of a transaction that the list has already.
func TestWithAFeedNoListIsStaleWhenEntriesAreDeletedThatItNeeds(t *testing.T) {
	t.Parallel()
	users, url := openPatched(t)
	late := begin(t, url)
	late.do("UPDATE users SET name = 'late' WHERE id = 600")
	storetest.Create(t, users, "early")
	storetest.Text(t, users)
	late.do("COMMIT")
	postgresql.SQL(t, url, "UPDATE users_changes SET at = '2001-01-01'")
	prune(t, users, dayBefore())
	if got, _ := storetest.Text(t, users); got != wholeText(t, users) {
		t.Error("the list is not what is stored")
	}
}

func TestWithAFeedNoListIsStaleUnderWriters(t *testing.T) {
	t.Parallel()
	users, url := openRecorded(t)
	processes := [2]*Users{users, openUsers(t, url)}
	awaitCursor(t, processes[1])
	expectEachShown(t, processes)
	for _, users := range processes {
		if users.Stats().Patched == 0 {
			t.Error("no list was patched")
		}
		if got, _ := storetest.Text(t, users); got != wholeText(t, users) {
			t.Error("the list is not what is stored")
		}
	}
}

func dayBefore() time.Time { return time.Now().Add(-24 * time.Hour) }

// createTrigger returns the statements that make a trigger of the feed.
func createTrigger(schema, name string) (statements string) {
	for statement := range strings.SplitSeq(createFeed(schema), ";") {
		if strings.Contains(statement, " TRIGGER "+name) {
			statements += statement + ";"
		}
	}
	return statements
}

// replaceFunction returns the statement that gives the function of the feed another body.
func replaceFunction(body string) string {
	return "CREATE OR REPLACE FUNCTION users_changes_record() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER " +
		"SET search_path = pg_catalog, pg_temp AS $record$" + strings.ReplaceAll(body, "SCHEMA", "public") + "$record$"
}
