package sqlite

import (
	"errors"
	"strings"
	"testing"

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
		expectEnded(t, index, users)
		err := RecordChanges(ctx, users.writer.files.database.path)
		if err == nil || !strings.Contains(err.Error(), "unique index") {
			t.Errorf("%s: %v", index, err)
		}
	}
}

func expectEnded(t testing.TB, why string, users *Users) {
	t.Helper()
	expectListed(t, users)
	if _, err := users.Changes(ctx, "", 10); !errors.Is(err, models.ErrNoFeed) {
		t.Errorf("%s: %v", why, err)
	}
}

func TestAnotherProgramEndsTheFeedUntilItIsSwitchedOn(t *testing.T) {
	t.Parallel()
	const dropped = "the feed's table dropped"
	for name, statements := range map[string][]string{
		"users dropped and made again": {"DROP TABLE users", sqlitetest.Table, "INSERT INTO users (email) VALUES ('other')"},
		"users renamed":                {"ALTER TABLE users RENAME TO u", "ALTER TABLE u RENAME TO users"},
		"a trigger dropped":            {"DROP TRIGGER users_changes_moved"},
		"a trigger with another text": {"DROP TRIGGER users_changes_deleted",
			"CREATE TRIGGER users_changes_deleted AFTER DELETE ON users BEGIN SELECT 1; END"},
		dropped:              {"DROP TABLE users_changes"},
		"a new unique index": {"CREATE UNIQUE INDEX i ON users (email, name)"},
	} {
		users, f, run := openRecorded(t, sqlitetest.Table, three)
		storetest.Text(t, users)
		run(statements...)
		if name == dropped { // then no program can write
			_, err := users.Changes(ctx, "", 10)
			sqlitetest.ExpectCannotServe(t, name, err, "users_changes")
		} else {
			expectEnded(t, name, users)
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

// SQLite runs the newest trigger first. One that keeps others from running after a write must not be newer than the feed's.
func TestATriggerThatKeepsOthersFromRunningEndsTheFeedIfItIsNewer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ trigger, write string }{
		{"AFTER INSERT ON users BEGIN SELECT RAISE(IGNORE)", "INSERT INTO users (email) VALUES ('new')"},
		{"AFTER UPDATE ON users BEGIN SELECT RAISE(IGNORE)", "UPDATE users SET name = 'new' WHERE id = 1"},
		{"AFTER DELETE ON users BEGIN SELECT raise ( ignore )", "DELETE FROM users WHERE id = 1"},
		{"AFTER INSERT ON users BEGIN SELECT RAISE(FAIL, 'no')", "INSERT INTO users (email) VALUES ('new')"},
		{"AFTER INSERT ON users BEGIN INSERT OR FAIL INTO log VALUES (1)", "INSERT INTO users (email) VALUES ('new')"},
	} {
		users, _, run := openRecorded(t, sqlitetest.Table, three, "CREATE TABLE log (id UNIQUE)", "INSERT INTO log VALUES (1)")
		storetest.Text(t, users)
		run("CREATE TRIGGER t " + test.trigger + "; END")
		expectEnded(t, test.trigger, users)
		switchFeed(t, users, true)
		f := storetest.Follow(t, users)
		_, _ = otherProgram(t, users).Exec(test.write) // FAIL is an error, and the write stays
		expectFollowed(t, users, f)
		if len(f.Entries) != 1 {
			t.Errorf("%s: the entries are %q", test.trigger, storetest.ShownChanges(f.Entries))
		}
	}
}

func TestTheFeedGoesOnBesideTriggersThatKeepNoOtherFromRunning(t *testing.T) {
	t.Parallel()
	const table = "CREATE TABLE users (id INTEGER PRIMARY KEY, name, email UNIQUE, created_at, failed)"
	users, f, run := openRecorded(t, table, three)
	run("CREATE TRIGGER a AFTER UPDATE OF failed ON users WHEN new.failed > 9 BEGIN "+
		"SELECT RAISE(ABORT, 'it failed, do not ignore it'); END",
		"CREATE TRIGGER b AFTER INSERT ON users BEGIN INSERT OR IGNORE INTO log VALUES (new.id); END", "CREATE TABLE log (id)",
		"CREATE TRIGGER c BEFORE UPDATE ON users WHEN new.id = 3 BEGIN SELECT RAISE(IGNORE); END", "UPDATE users SET failed = 1",
		"INSERT INTO users (email) VALUES ('new')")
	expectFollowed(t, users, f)
	if got := storetest.ShownChanges(f.Entries); got != "changed 1, changed 2, created 4" {
		t.Errorf("the entries are %s", got)
	}
}

// Each other program's change of the schema may change what the list shows without a row that is written.
func TestAListIsNeverStaleAfterAChangeOfTheSchema(t *testing.T) {
	t.Parallel()
	const table = "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT DEFAULT 'd', email UNIQUE, created_at, " +
		"other TEXT DEFAULT 'o')"
	for _, change := range [][]string{
		{"ALTER TABLE users RENAME COLUMN name TO old", "ALTER TABLE users RENAME COLUMN other TO name"},
		{"ALTER TABLE users DROP COLUMN name", "ALTER TABLE users ADD COLUMN name TEXT DEFAULT 'added'"},
		{"CREATE TABLE copy AS SELECT * FROM users", "DROP TABLE users", table,
			"INSERT INTO users SELECT id, 'copied', email, created_at, other FROM copy"},
		{"ALTER TABLE users ADD COLUMN more"},
		{"CREATE TRIGGER t AFTER UPDATE ON users BEGIN UPDATE users SET name = 'by a trigger' WHERE id = 3; END",
			"UPDATE users SET name = 'x' WHERE id = 1"},
	} {
		users, _, run := openRecorded(t, table, three)
		storetest.Text(t, users)
		run(change...)
		expectListed(t, users)
		run("UPDATE users SET name = 'again' WHERE id = 2")
		expectListed(t, users)
	}
}

func TestTheFeedGoesOnThroughIgnoreEmailCase(t *testing.T) {
	t.Parallel()
	users, f, run := openRecorded(t, sqlitetest.Table, three)
	storetest.Text(t, users)
	run("UPDATE users SET name = 'before' WHERE id = 1")
	if err := IgnoreEmailCase(ctx, users.writer.files.database.path); err != nil {
		t.Fatal(err)
	}
	run("REPLACE INTO users (name, email) VALUES ('new', 'B')", "UPDATE OR REPLACE users SET email = 'C' WHERE id = 4")
	expectFollowed(t, users, f)
	if got := storetest.ShownChanges(f.Entries); got != "changed 1, changed 2, created 4, changed 3, changed 4" {
		t.Errorf("the entries are %s", got)
	}
}

func TestTheFeedGoesOnThroughAddField(t *testing.T) {
	t.Parallel()
	users, f, run := openRecorded(t, sqlitetest.Table, three)
	storetest.Text(t, users)
	run("UPDATE users SET name = 'before' WHERE id = 1")
	if err := AddColumn(ctx, users.writer.files.database.path, models.NewFields("phone")[2]); err != nil {
		t.Fatal(err)
	}
	run("UPDATE users SET phone = '1' WHERE id = 2", "REPLACE INTO users (name, email) VALUES ('new', 'c')")
	expectFollowed(t, users, f)
	if got := storetest.ShownChanges(f.Entries); got != "changed 1, changed 2, changed 3, created 4" {
		t.Errorf("the entries are %s", got)
	}
}

func TestATableOfAnotherProgramWithTheNameOfTheFeedIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	for _, create := range []string{
		"CREATE TABLE users_changes (id, what)", "CREATE TABLE Users_Changes (cursor, op, id, at, by_whom)",
		"CREATE VIEW users_changes AS SELECT id FROM users", "CREATE INDEX users_changes ON users (name)",
	} {
		users, other := openTable(t, 1<<20, sqlitetest.Table, three, create)
		for what, change := range map[string]func() error{
			"on":  func() error { return RecordChanges(ctx, users.writer.files.database.path) },
			"off": func() error { return ForgetChanges(ctx, users.writer.files.database.path) },
		} {
			if err := change(); err == nil || err.Error() != "users_changes is another program's: rename it" {
				t.Errorf("%s: changes %s: %v", create, what, err)
			}
		}
		var found, triggers int
		row := other.QueryRow("SELECT total(sql = ?), total(type = 'trigger') FROM sqlite_schema", create)
		if err := row.Scan(&found, &triggers); err != nil || found != 1 || triggers != 0 {
			t.Errorf("%s: %d of it and %d triggers are left, %v", create, found, triggers, err)
		}
		expectEnded(t, create, users)
	}
}
