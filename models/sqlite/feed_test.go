package sqlite

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"users-api/models"
	"users-api/models/sqlite/sqlitetest"
	"users-api/models/storetest"
)

// What REPLACE removes through such an index could not be recorded.
func TestAUniqueIndexThatIsNotOnColumnsAloneEndsTheFeed(t *testing.T) {
	t.Parallel()
	for _, index := range []string{
		"CREATE UNIQUE INDEX i ON users (lower(email))", "CREATE UNIQUE INDEX i ON users (email) WHERE name IS NULL",
		"CREATE UNIQUE INDEX i ON users (name, email || name)",
	} {
		users, _, run := openRecorded(t, sqlitetest.Table, three)
		run(index)
		if _, err := users.Changes(ctx, "", 10); !errors.Is(err, models.ErrNoFeed) {
			t.Errorf("%s: %v", index, err)
		}
		err := RecordChanges(ctx, users.writer.files.database.path)
		if err == nil || !strings.Contains(err.Error(), "unique index") {
			t.Errorf("%s: %v", index, err)
		}
	}
}

func TestAStatementThatWritesManyUsersIsOneEntry(t *testing.T) {
	t.Parallel()
	const insert = "INSERT INTO users (email) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT %d) SELECT '%s' || i FROM n"
	for n, want := range map[int]string{
		models.MostRecorded: "created 1, …", models.MostRecorded + 1: "many 0", 2*models.MostRecorded + 2: "many 0", 3*models.MostRecorded + 7: "many 0",
	} {
		users, f, run := openRecorded(t, sqlitetest.Table)
		run(fmt.Sprintf(insert, n, "a"))
		expectFollowed(t, users, f)
		if got := len(f.Entries); want == "many 0" && storetest.ShownChanges(f.Entries) != want || want != "many 0" && got != n {
			t.Errorf("%d users are %d entries: %.100s", n, got, storetest.ShownChanges(f.Entries))
		}
		f.Entries = nil
		run("UPDATE users SET name = 'x' WHERE id = 1", "DELETE FROM users WHERE id = 2")
		expectFollowed(t, users, f)
		if got := storetest.ShownChanges(f.Entries); got != "changed 1, deleted 2" {
			t.Errorf("after %d users come %.100s", n, got)
		}
		f.Entries = nil
		run("BEGIN", fmt.Sprintf(insert, 3, "b"), "DELETE FROM users WHERE id > 3", "UPDATE users SET name = 'z'", "COMMIT")
		expectFollowed(t, users, f)
		if got := storetest.ShownChanges(f.Entries); n > models.MostRecorded && !strings.HasSuffix(got, "many 0, changed 1, changed 3") {
			t.Errorf("of a transaction with %d users there are %.300s", n, got)
		}
	}
}

func TestWithoutItsTableTheFeedIsOffUntilItIsSwitchedOn(t *testing.T) {
	t.Parallel()
	for name, statements := range map[string][]string{
		"users dropped and made again": {"DROP TABLE users", sqlitetest.Table, "INSERT INTO users (id, email) VALUES (1, 'other')"},
		"a trigger dropped":            {"DROP TRIGGER users_changes_moved"},
		"a trigger with another text":  {"DROP TRIGGER users_changes_deleted", "CREATE TRIGGER users_changes_deleted AFTER DELETE ON users BEGIN SELECT 1; END"},
		"the feed's table dropped":     {"DROP TABLE users_changes"},
		"a new unique index":           {"CREATE UNIQUE INDEX i ON users (email, name)"},
	} {
		users, f, run := openRecorded(t, sqlitetest.Table, three)
		storetest.Text(t, users)
		run(statements...)
		if name == "the feed's table dropped" { // then no program can write
			_, err := users.Changes(ctx, "", 10)
			sqlitetest.ExpectCannotServe(t, name, err, "users_changes")
		} else {
			expectListed(t, users)
			if _, err := users.Changes(ctx, "", 10); !errors.Is(err, models.ErrNoFeed) {
				t.Errorf("%s: %v", name, err)
			}
		}
		switchFeed(t, users, true)
		if err := f.Next(); !errors.Is(err, models.ErrCursorGone) {
			t.Errorf("%s: an old cursor: %v", name, err)
		}
		f = storetest.Follow(t, users)
		storetest.Create(t, users, "again")
		expectFollowed(t, users, f)
	}
}

// Each other program's change of the schema may change what the list shows without a row that is written.
func TestAListIsNeverStaleAfterAChangeOfTheSchema(t *testing.T) {
	t.Parallel()
	const table = "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT DEFAULT 'd', email UNIQUE, created_at, other TEXT DEFAULT 'o')"
	for _, change := range [][]string{
		{"ALTER TABLE users RENAME COLUMN name TO old", "ALTER TABLE users RENAME COLUMN other TO name"},
		{"ALTER TABLE users DROP COLUMN name", "ALTER TABLE users ADD COLUMN name TEXT DEFAULT 'added'"},
		{"CREATE TABLE copy AS SELECT * FROM users", "DROP TABLE users", table, "INSERT INTO users SELECT id, 'copied', email, created_at, other FROM copy"},
		{"ALTER TABLE users ADD COLUMN more"},
		{"CREATE TRIGGER t AFTER UPDATE ON users BEGIN UPDATE users SET name = 'by a trigger' WHERE id = 3; END", "UPDATE users SET name = 'x' WHERE id = 1"},
	} {
		users, _, run := openRecorded(t, table, three)
		storetest.Text(t, users)
		run(change...)
		expectListed(t, users)
		run("UPDATE users SET name = 'again' WHERE id = 2")
		expectListed(t, users)
	}
}

func TestTheTriggersOfTheFeedAreNoRules(t *testing.T) {
	t.Parallel()
	users, _, run := openRecorded(t, sqlitetest.Table)
	created := 0
	rules := func() bool {
		created++
		storetest.Create(t, users, fmt.Sprint("user", created)) // the writer looks at the table
		return users.writer.conn.table.rules
	}
	if rules() {
		t.Error("the triggers of the feed are taken for rules")
	}
	storetest.Text(t, users)
	before := users.Stats()
	for range 5 {
		rules()
		storetest.Text(t, users)
	}
	if after := users.Stats(); after.Patched != before.Patched+5 {
		t.Errorf("%d lists of 5 were patched", after.Patched-before.Patched)
	}
	for _, name := range []string{"t", "users_changes_t", "users_changes_createdx"} {
		run("CREATE TRIGGER " + name + " AFTER INSERT ON users BEGIN SELECT 1; END")
		if !rules() {
			t.Errorf("the trigger %s is no rule", name)
		}
		run("DROP TRIGGER " + name)
	}
	run("DROP TRIGGER users_changes_moved")
	if !rules() {
		t.Error("the triggers are no rules, although one is missing")
	}
}

func TestAREPLACEByAnEmailInAnotherCaseIsRecorded(t *testing.T) {
	t.Parallel()
	users, f, run := openRecorded(t, sqlitetest.Table, three)
	if err := IgnoreEmailCase(ctx, users.writer.files.database.path); err != nil {
		t.Fatal(err)
	}
	if err := f.Next(); !errors.Is(err, models.ErrCursorGone) {
		t.Errorf("an old cursor: %v", err)
	}
	f = storetest.Follow(t, users)
	run("REPLACE INTO users (name, email) VALUES ('new', 'B')")
	expectFollowed(t, users, f)
	if got := storetest.ShownChanges(f.Entries); got != "changed 2, created 4" {
		t.Errorf("the entries are %s", got)
	}
}

// A clock that is set back must not make a hole in the feed: a client would miss what was in it.
func TestOnlyTheBeginningOfTheFeedIsDeleted(t *testing.T) {
	t.Parallel()
	users, f, run := openRecorded(t, sqlitetest.Table)
	for i := range 2500 {
		storetest.Create(t, users, fmt.Sprint(i))
	}
	f.ExpectAll(t)
	first := f.Entries[0].Cursor
	run("UPDATE users_changes SET at = 0", "UPDATE users_changes SET at = at + 1e15 WHERE cursor = "+first+" + 1200")
	if err := users.PruneChanges(ctx, time.Now()); err != nil {
		t.Fatal(err)
	}
	changes, err := users.Changes(ctx, "", 1)
	if err != nil || changes.Entries[0].Cursor != f.Entries[1200].Cursor {
		t.Errorf("the oldest is %v, %v, want %s", changes.Entries, err, f.Entries[1200].Cursor)
	}
	run("UPDATE users_changes SET at = 0")
	if err := users.PruneChanges(ctx, time.Now()); err != nil {
		t.Fatal(err)
	}
	changes, err = users.Changes(ctx, "", 10)
	if err != nil || len(changes.Entries) != 1 || changes.Next != f.Entries[2499].Cursor {
		t.Errorf("%v, %v are left, want the newest", changes.Entries, err)
	}
}

func TestTheShellOfSQLiteIsRecorded(t *testing.T) {
	t.Parallel()
	shell, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Skip("sqlite3 is not installed")
	}
	users, f, _ := openRecorded(t, sqlitetest.Table, three)
	output, err := exec.Command(shell, users.writer.files.database.path, "PRAGMA busy_timeout = 5000; REPLACE INTO users (name, email) "+
		"VALUES ('new', 'b'); UPDATE users SET id = 9 WHERE id = 1; DELETE FROM users WHERE id = 3").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	expectFollowed(t, users, f)
	if got := storetest.ShownChanges(f.Entries); got != "changed 2, created 4, deleted 1, created 9, deleted 3" {
		t.Errorf("the entries are %s", got)
	}
}

// The command may run before the service has ever made the file a database in WAL mode.
func TestADatabaseInRollbackModeIsRecorded(t *testing.T) {
	t.Parallel()
	path := sqlitetest.File(t, sqlitetest.Table, three)
	if err := RecordChanges(ctx, path); err != nil {
		t.Fatal(err)
	}
	users, err := Open(ctx, path, storetest.Fields(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer users.Close(ctx) //nolint:errcheck // it is read only
	f := storetest.Follow(t, users)
	storetest.Create(t, users, "new")
	expectFollowed(t, users, f)
}
