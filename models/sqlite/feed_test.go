package sqlite

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"users-api/models"
	"users-api/models/sqlite/sqlitetest"
	"users-api/models/storetest"
)

// insertMany inserts n users.
func insertMany(n int, email string) string {
	return fmt.Sprintf("INSERT INTO users (email) "+
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT %d) SELECT '%s' || i FROM n", n, email)
}

func TestAStatementThatWritesManyUsersIsOneEntry(t *testing.T) {
	storetest.OneGoroutine(t)
	t.Parallel()
	const most = models.MostRecorded
	for n, want := range map[int]int{most: most, most + 1: 1, 2*most + 2: 1, 3*most + 7: 1} {
		users, f, run := openRecorded(t, sqlitetest.Table)
		expect := func(want string) {
			t.Helper()
			expectFollowed(t, users, f)
			if got := storetest.ShownChanges(f.Entries); !strings.HasSuffix(got, want) {
				t.Errorf("with %d users the entries are %.300s, and not %s", n, got, want)
			}
		}
		run(insertMany(n, "a"))
		if expect(""); len(f.Entries) != want || (want == 1) != (f.Entries[0].Op == models.OpMany) {
			t.Errorf("%d users are %d entries: %.100s", n, len(f.Entries), storetest.ShownChanges(f.Entries))
		}
		f.Entries = nil
		run("UPDATE users SET name = 'x' WHERE id = 1", "DELETE FROM users WHERE id = 2")
		expect("changed 1, deleted 2")
		run("BEGIN", insertMany(3, "b"), "DELETE FROM users WHERE id > 3", "UPDATE users SET name = 'z'", "COMMIT")
		expect("changed 1, changed 3")
		if want == 1 {
			expect("many 0, changed 1, changed 3")
		}
	}
}

// After the clock was set back, a write can have the same time as an earlier statement. It is none of its rows.
func TestAWriteAtTheTimeOfAStatementThatWroteManyUsersIsSeen(t *testing.T) {
	storetest.OneGoroutine(t)
	t.Parallel()
	users, f, run := openRecorded(t, sqlitetest.Table)
	run(insertMany(models.MostRecorded+1, "a"))
	f.ExpectAll(t)
	f.Entries = nil
	run("INSERT INTO users_changes (op, id, at) SELECT 'changed', 1, at FROM users_changes WHERE op = 'many'")
	expectFollowed(t, users, f)
	if got := storetest.ShownChanges(f.Entries); got != "many 0" {
		t.Errorf("the entries are %q", got)
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

// A clock that is set back must not make a hole in the feed: a client would miss what was in it.
func TestOnlyTheBeginningOfTheFeedIsDeleted(t *testing.T) {
	storetest.OneGoroutine(t)
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
	users, f, _ := openRecorded(t, sqlitetest.Table, three, "CREATE UNIQUE INDEX i ON users (email COLLATE NOCASE)")
	output, err := exec.Command(shell, users.writer.files.database.path, "PRAGMA busy_timeout = 5000; "+
		"REPLACE INTO users (name, email) VALUES ('new', 'B'); UPDATE OR REPLACE users SET email = 'A', id = 9 WHERE id = 3; "+
		"DELETE FROM users WHERE id = 4").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	expectFollowed(t, users, f)
	if got := storetest.ShownChanges(f.Entries); got != "changed 2, created 4, changed 1, deleted 3, created 9, deleted 4" {
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
