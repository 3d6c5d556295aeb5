package sqlite

import (
	"testing"

	"users-api/models"
	"users-api/models/sqlite/sqlitetest"
	"users-api/models/storetest"
)

// openRecorded opens a database that another program has made with these statements, and records its changes.
func openRecorded(t testing.TB, statements ...string) (*Users, *storetest.Follower, func(...string)) {
	t.Helper()
	users, other := openTable(t, 1<<20, statements...)
	switchFeed(t, users, true)
	return users, storetest.Follow(t, users), func(statements ...string) { sqlitetest.Run(t, other, statements...) }
}

// expectFollowed expects that a follower and the cached list have what is stored.
func expectFollowed(t testing.TB, users *Users, f *storetest.Follower) {
	t.Helper()
	f.ExpectAll(t)
	expectListed(t, users)
}

// expectListed expects that the cached list has what is stored.
func expectListed(t testing.TB, users *Users) {
	t.Helper()
	var want []byte
	for piece, err := range users.fields.NewArray(0).Chunks(users.Select(ctx, models.Query{})) {
		if want = append(want, piece...); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := storetest.Text(t, users); got != string(want) {
		t.Errorf("the list is %.500s, want %.500s", got, want)
	}
}

// three are users whom the statements of another program change.
const three = "INSERT INTO users (id, name, email) VALUES (1, 'n', 'a'), (2, 'n', 'b'), (3, 'n', 'c')"

func TestEachStatementOfAnotherProgramIsRecorded(t *testing.T) {
	storetest.OneGoroutine(t)
	t.Parallel()
	const onLog = "CREATE TABLE log (id); CREATE TRIGGER t AFTER INSERT ON log BEGIN "
	for name, test := range map[string]struct{ statement, want string }{
		"rows of one INSERT": {"INSERT INTO users (id, email) VALUES (5, 'e'), (4, 'd')", "created 5, created 4"},
		"INSERT with a SELECT": {"INSERT INTO users (id, email) SELECT id + 10, email || 'x' FROM users",
			"created 11, created 12, created 13"},
		"INSERT OR REPLACE by id":          {"INSERT OR REPLACE INTO users (id, email) VALUES (2, 'new')", "created 2"},
		"REPLACE by email, without an id":  {"REPLACE INTO users (name, email) VALUES ('new', 'b')", "changed 2, created 4"},
		"REPLACE by id and another's mail": {"REPLACE INTO users (id, email) VALUES (1, 'b')", "changed 2, created 1"},
		"INSERT OR IGNORE": {"INSERT OR IGNORE INTO users (id, email) VALUES (9, 'a'), (8, 'new')",
			"changed 1, created 8"},
		"UPSERT by email": {"INSERT INTO users (name, email) VALUES ('new', 'b') ON CONFLICT (email) DO UPDATE " +
			"SET name = excluded.name", "changed 2, changed 2"},
		"UPSERT by id": {"INSERT INTO users (id, email) VALUES (2, 'new') ON CONFLICT (id) DO UPDATE " +
			"SET email = excluded.email", "changed 2"},
		"UPDATE of all":              {"UPDATE users SET name = 'new'", "changed 1, changed 2, changed 3"},
		"UPDATE of none":             {"UPDATE users SET name = 'new' WHERE id = 9", ""},
		"UPDATE of an id":            {"UPDATE users SET id = 9 WHERE id = 2", "deleted 2, created 9"},
		"UPDATE of a rowid":          {"UPDATE users SET rowid = 9 WHERE id = 2", "deleted 2, created 9"},
		"UPDATE OR REPLACE of an id": {"UPDATE OR REPLACE users SET id = 1 WHERE id = 2", "deleted 2, created 1"},
		"UPDATE OR REPLACE of an email": {"UPDATE OR REPLACE users SET email = 'a' WHERE id = 2",
			"changed 1, changed 2"},
		"UPDATE OR REPLACE of all emails": {"UPDATE OR REPLACE users SET email = 'x'",
			"changed 1, changed 1, changed 2, changed 2, changed 3"},
		"UPDATE OR REPLACE of an id and an email": {"UPDATE OR REPLACE users SET id = 3, email = 'a' WHERE id = 2",
			"changed 1, deleted 2, created 3"},
		"DELETE":               {"DELETE FROM users WHERE id > 1", "deleted 2, deleted 3"},
		"DELETE without WHERE": {"DELETE FROM users", "deleted 1, deleted 2, deleted 3"},
		"a transaction": {"BEGIN; DELETE FROM users WHERE id = 1; INSERT INTO users (id, email) VALUES (1, 'a'); COMMIT",
			"deleted 1, created 1"},
		"a transaction that is rolled back": {"BEGIN; DELETE FROM users; ROLLBACK", ""},
		"a savepoint that is rolled back": {"BEGIN; SAVEPOINT s; DELETE FROM users; ROLLBACK TO s; " +
			"UPDATE users SET name = 'x' WHERE id = 3; COMMIT", "changed 3"},
		"a trigger that writes others": {"CREATE TRIGGER t AFTER UPDATE ON users WHEN new.id = 1 BEGIN " +
			"UPDATE users SET name = 'too' WHERE id = 2; DELETE FROM users WHERE id = 3; END; " +
			"UPDATE users SET name = 'new' WHERE id = 1", "changed 2, deleted 3, changed 1"},
		"a trigger that gives another user the new email": {"CREATE TRIGGER t BEFORE INSERT ON users BEGIN " +
			"UPDATE users SET email = new.email WHERE id = 3; END; REPLACE INTO users (email) VALUES ('new')",
			"changed 3, changed 3, created 4"},
		"a trigger before the write that ignores it": {"CREATE TRIGGER t BEFORE INSERT ON users BEGIN " +
			"SELECT RAISE(IGNORE); END; INSERT INTO users (email) VALUES ('new')", ""},
		"a trigger of another table": {onLog + "DELETE FROM users WHERE id = new.id; END; " +
			"INSERT INTO log VALUES (1), (3)", "deleted 1, deleted 3"},
		"REPLACE in a trigger": {onLog + "REPLACE INTO users (email) VALUES ('b'); END; " +
			"INSERT INTO log VALUES (1)", "changed 2, created 4"},
		"two statements within a millisecond": {"UPDATE users SET name = 'x' WHERE id = 1; " +
			"UPDATE users SET name = 'y' WHERE id = 1", "changed 1, changed 1"},
		"VACUUM": {"DELETE FROM users WHERE id = 2; VACUUM; INSERT INTO users (email) VALUES ('new')", "deleted 2, created 4"},
	} {
		t.Run(name, func(t *testing.T) {
			users, f, run := openRecorded(t, sqlitetest.Table, three)
			storetest.Text(t, users) // it is cached
			run(test.statement)
			expectFollowed(t, users, f)
			if got := storetest.ShownChanges(f.Entries); got != test.want {
				t.Errorf("the entries are %q, want %q", got, test.want)
			}
		})
	}
}

// REPLACE removes users by any unique index, whatever its columns, collations and types are.
func TestUsersWhomREPLACERemovesAreRecorded(t *testing.T) {
	storetest.OneGoroutine(t)
	t.Parallel()
	with := func(column string) string {
		return "CREATE TABLE users (id INTEGER PRIMARY KEY, name, email UNIQUE, created_at, " + column + ")"
	}
	email := func(column string) string {
		return "CREATE TABLE users (id INTEGER PRIMARY KEY, name, " + column + ", created_at)"
	}
	const (
		index = "CREATE UNIQUE INDEX i ON users "
		one   = "INSERT INTO users (email) VALUES ('a')"
		two   = "INSERT INTO users (email, n) VALUES ('a', 1), ('b', 2)"
		odd   = `"a ""b'' OP % AT"`
	)
	for name, test := range map[string][]string{
		"by another column":            {with("n UNIQUE"), two, "REPLACE INTO users (email, n) VALUES ('c', 2)"},
		"by two users' values":         {with("n UNIQUE"), two, "REPLACE INTO users (email, n) VALUES ('a', 2)"},
		"UPDATE OR REPLACE by another": {with("n UNIQUE"), two, "UPDATE OR REPLACE users SET n = 2 WHERE n = 1"},
		"by an odd column": {with(odd + " UNIQUE"), "INSERT INTO users (email, " + odd + ") VALUES ('a', 1)",
			"REPLACE INTO users (email, " + odd + ") VALUES ('c', 1)"},
		"by two columns": {with("n, m, UNIQUE (m, n)"), "INSERT INTO users (email, n, m) VALUES ('a', 1, 2), ('b', 1, 3)",
			"REPLACE INTO users (email, n, m) VALUES ('c', 1, 3)"},
		"without regard to case": {sqlitetest.Table, index + "(email COLLATE NOCASE)", one,
			"REPLACE INTO users (email) VALUES ('A')"},
		"without regard to spaces": {sqlitetest.Table, index + "(email COLLATE RTRIM)", one,
			"REPLACE INTO users (email) VALUES ('a  ')"},
		"of a column's collation": {email("email TEXT COLLATE NOCASE UNIQUE"), one, "REPLACE INTO users (email) VALUES ('A')"},
		"a number that becomes a text": {email("email TEXT UNIQUE"), "INSERT INTO users (email) VALUES ('5')",
			"REPLACE INTO users (email) VALUES (5)"},
		"a text that becomes a number": {with("n INTEGER UNIQUE"), two, "REPLACE INTO users (email, n) VALUES ('c', '2.0')"},
		"a default":                    {with("n DEFAULT 7 UNIQUE"), one, "REPLACE INTO users (email) VALUES ('b')"},
		"a default where NULL is refused": {with("n NOT NULL DEFAULT '7%' UNIQUE"), one,
			"REPLACE INTO users (email, n) VALUES ('b', NULL)"},
		"such a default in UPDATE": {with("n NOT NULL DEFAULT 1 UNIQUE"), two,
			"UPDATE OR REPLACE users SET n = NULL WHERE email = 'b'"},
		"such a default of another type": {with("n TEXT NOT NULL DEFAULT 7 UNIQUE"), one,
			"REPLACE INTO users (email, n) VALUES ('b', NULL)"},
		"a generated column": {with("n AS (lower(email)) UNIQUE"), one, "REPLACE INTO users (email) VALUES ('A')"},
		"a generated column in UPDATE": {with("n, m AS (n / 3) UNIQUE"), "INSERT INTO users (email, n) VALUES ('a', 1), ('b', 3)",
			"UPDATE OR REPLACE users SET n = 4 WHERE n = 1"},
		"the user -1": {sqlitetest.Table, "INSERT INTO users (id, email) VALUES (-1, 'a'), (7, 'b')",
			"REPLACE INTO users (email) VALUES ('a')"},
		"a rule of the table": {with("n UNIQUE ON CONFLICT REPLACE"), two, "INSERT INTO users (email, n) VALUES ('c', 1)"},
		"with triggers that are recursive": {sqlitetest.Table, three, "PRAGMA recursive_triggers = ON",
			"REPLACE INTO users (id, email) VALUES (1, 'b')"},
		"AUTOINCREMENT": {"CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT, name, email UNIQUE, created_at)", three,
			"DELETE FROM users WHERE id = 3; REPLACE INTO users (email) VALUES ('b')"},
		"a foreign key that cascades": {with("boss REFERENCES users (id) ON DELETE CASCADE"), "PRAGMA foreign_keys = ON",
			"INSERT INTO users (email, boss) VALUES ('a', NULL), ('b', 1), ('c', 2)", "DELETE FROM users WHERE id = 1"},
		"REPLACE with a foreign key": {with("boss REFERENCES users (id) ON DELETE CASCADE"), "PRAGMA foreign_keys = ON",
			"INSERT INTO users (email, boss) VALUES ('a', NULL), ('b', 1), ('c', 2)", "REPLACE INTO users (email) VALUES ('a')"},
	} {
		t.Run(name, func(t *testing.T) {
			last := len(test) - 1
			users, f, run := openRecorded(t, test[:last]...)
			storetest.Text(t, users)
			run(test[last])
			expectFollowed(t, users, f)
			if len(f.Entries) == 0 {
				t.Error("nothing is recorded")
			}
		})
	}
}
