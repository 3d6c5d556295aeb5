//go:build postgres

package postgres

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"users-api/models"
	"users-api/models/storetest"
	"users-api/tests/postgresql"
)

// openRecorded opens a database that records changes, on a server whose transactions are the test's alone.
func openRecorded(t testing.TB, settings ...string) (*Users, string) {
	t.Helper()
	url := postgresql.Start(t, settings...).NewDatabase(t)
	users := openUsers(t, url)
	record(t, users, url)
	return users, url
}

// record begins to record changes, and waits until a service has noticed.
func record(t testing.TB, users *Users, url string) {
	t.Helper()
	if err := RecordChanges(ctx, url, quiet); err != nil {
		t.Fatal(err)
	}
	awaitCursor(t, users)
}

func awaitCursor(t testing.TB, users *Users) (cursor string) {
	t.Helper()
	await(t, "changes are recorded", func() bool {
		storetest.Text(t, users) // which looks at the table
		return cursorOf(t, users) != ""
	})
	return cursorOf(t, users)
}

func cursorOf(t testing.TB, users *Users) string {
	t.Helper()
	cursor, err := users.Cursor(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return cursor
}

// changesAfterCursor returns the entries after a cursor, as "op id name", and the next cursor.
func entriesAfter(t testing.TB, users *Users, cursor string) (entries, next string) {
	t.Helper()
	changes, err := users.Changes(ctx, cursor, 20_000)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, change := range changes.Entries {
		text := string(change.Op)
		if change.Op != models.OpMany {
			text += fmt.Sprint(" ", change.ID)
		}
		if change.User != nil {
			text += " " + change.User.Name
		}
		all = append(all, text)
	}
	return strings.Join(all, ", "), changes.Next
}

func TestTheFeedHasWhatAnyStatementWrites(t *testing.T) {
	t.Parallel()
	users, url := openRecorded(t)
	hasMerge := postgresql.Ask(t, url, "SELECT (current_setting('server_version_num')::int >= 150000)::text") == "true"
	postgresql.SQL(t, url, "INSERT INTO users (name, email) VALUES ('ada', 'a')", "ALTER SEQUENCE users_id_seq RESTART 100")
	_, cursor := entriesAfter(t, users, "")
	for _, test := range []struct{ name, statements, want string }{
		{"an insertion", "INSERT INTO users (name, email) VALUES ('b', 'b'), ('c', 'c')", "created 100 b, created 101 c"},
		{"a change", "UPDATE users SET name = 'x' WHERE id >= 100", "changed 100 x, changed 101 x"},
		{"no change of any row", "UPDATE users SET name = 'y' WHERE false", ""},
		{"another id", "UPDATE users SET id = 7 WHERE id = 101", "created 7 x, deleted 101"},
		{"ids that move up", "UPDATE users SET id = id + 1 WHERE id = 100", "created 101 x, deleted 100"},
		{"a deletion", "DELETE FROM users WHERE id = 7", "deleted 7"},
		{"ON CONFLICT", "INSERT INTO users (name, email) VALUES ('z', 'a'), ('new', 'n') " +
			"ON CONFLICT (email) DO UPDATE SET name = 'z'", "changed 1 z, created 103 new"},
		{"ON CONFLICT DO NOTHING", "INSERT INTO users (name, email) VALUES ('z', 'a') ON CONFLICT DO NOTHING", ""},
		{"MERGE", `MERGE INTO users USING (VALUES ('a', 'm'), ('q', 'q')) AS s (email, name) ON users.email = s.email
			WHEN MATCHED THEN UPDATE SET name = s.name WHEN NOT MATCHED THEN INSERT (name, email) VALUES (s.name, s.email)`,
			"changed 1 m, created 105 q"},
		{"COPY", "COPY users (id, name, email) FROM PROGRAM 'printf ''200\\tcopied\\tx\\n''' ", "created 200 copied"},
		{"a statement with two parts", "WITH gone AS (DELETE FROM users WHERE id = 200 RETURNING *) " +
			"INSERT INTO users (id, name, email) SELECT 201, name, email || '2' FROM gone", "created 201 copied, deleted 200"},
		{"what a replica writes", "SET session_replication_role = replica; " +
			"INSERT INTO users (id, name, email) VALUES (300, 'r', 'r1'); " +
			"UPDATE users SET name = 's' WHERE id = 300; UPDATE users SET id = 301 WHERE id = 300; DELETE FROM users WHERE id = 301",
			"created 300, changed 300, deleted 300, created 301, deleted 301"},
		{"a rollback", "BEGIN; DELETE FROM users; ROLLBACK", ""},
		{"a rollback to a savepoint", "BEGIN; SAVEPOINT a; DELETE FROM users; ROLLBACK TO a; " +
			"UPDATE users SET name = 'k' WHERE id = 1; COMMIT", "changed 1 k"},
		{"10,000 users", "INSERT INTO users (id, name, email) SELECT n, 'n', n FROM generate_series(1001, 11000) n",
			"10000 entries"},
		{"10,001 users", "INSERT INTO users (id, name, email) SELECT n, 'n', n FROM generate_series(20001, 30001) n", "many"},
		{"10,001 changes", "UPDATE users SET name = 'm' WHERE id > 20000", "many"},
		{"10,001 deletions", "DELETE FROM users WHERE id > 20000", "many"},
		{"TRUNCATE", "TRUNCATE users", "many"},
		{"TRUNCATE of a replica", "SET session_replication_role = replica; TRUNCATE users", "many"},
	} {
		if test.name == "MERGE" && !hasMerge {
			continue
		}
		postgresql.SQL(t, url, test.statements)
		got, next := entriesOfAll(t, users, cursor)
		if n := strings.Count(got, ",") + 1; n > 100 {
			got = fmt.Sprint(n, " entries")
		}
		if got != test.want && (sorted(got) != sorted(test.want) || strings.Contains(test.name, "replica")) {
			t.Errorf("%s: the feed has %s, want %s", test.name, got, test.want)
		}
		cursor = next
	}
}

// sorted sorts entries: those of one statement are in any order.
func sorted(entries string) string {
	all := strings.Split(entries, ", ")
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// entriesOfAll reads the entries after a cursor to their end, in several responses.
func entriesOfAll(t testing.TB, users *Users, cursor string) (entries, next string) {
	t.Helper()
	for {
		some, next := entriesAfter(t, users, cursor)
		if next == cursor {
			return strings.TrimPrefix(entries, ", "), next
		}
		entries, cursor = entries+", "+some, next
	}
}
