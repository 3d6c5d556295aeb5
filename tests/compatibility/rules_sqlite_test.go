//go:build !postgres

package compatibility

import (
	"fmt"
	"testing"

	"users-api/tests/program"
)

// refusesBad is a trigger that leaves a trace in another table before it refuses a name.
func refusesBad(how string) string {
	return "CREATE TRIGGER r BEFORE INSERT ON users WHEN new.name = 'bad' BEGIN INSERT INTO trace VALUES ('left'); " + how + "; END"
}

// Rules that another program's table may have, and what a creation of the name "bad" among others is told.
var tableRules = []tableRule{
	{"a trigger that aborts", "not him", []string{refusesBad("SELECT RAISE(ABORT, 'not him')")}},
	{"a trigger that fails", "not him", []string{refusesBad("SELECT RAISE(FAIL, 'not him')")}},
	{"a trigger that ignores", "not stored: a trigger of the table users ignored it", []string{refusesBad("SELECT RAISE(IGNORE)")}},
	{"a trigger whose own statement fails", "UNIQUE constraint failed: audit.what", []string{
		"CREATE TABLE audit (what TEXT UNIQUE)", "INSERT INTO audit VALUES ('bad')", refusesBad("INSERT INTO audit VALUES ('bad')")}},
	{"a check", "CHECK constraint failed", []string{"DROP TABLE users", `CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT,
		name TEXT CHECK (name <> 'bad'), email TEXT, created_at TEXT)`}},
}

// Rules that refuse to change the name to "bad", and what the client is told.
var changeRules = []tableRule{
	{"a trigger that aborts", "not him", []string{`CREATE TRIGGER r BEFORE UPDATE ON users
		WHEN new.name = 'bad' BEGIN SELECT RAISE(ABORT, 'not him'); END`}},
	{"a table that fails on conflict", "UNIQUE constraint failed: audit.what", []string{
		"CREATE TABLE audit (what TEXT UNIQUE ON CONFLICT FAIL)", "INSERT INTO audit VALUES ('bad')",
		`CREATE TRIGGER r AFTER UPDATE ON users WHEN new.name = 'bad' BEGIN INSERT INTO audit VALUES ('bad'); END`}},
	{"a trigger that ignores", "not stored: a trigger of the table users ignored it", []string{`CREATE TRIGGER r BEFORE UPDATE ON users
		WHEN new.name = 'bad' BEGIN SELECT RAISE(IGNORE); END`}},
	{"a trigger that ends the transaction", "not him", []string{`CREATE TRIGGER r AFTER UPDATE ON users
		WHEN new.name = 'bad' BEGIN SELECT RAISE(ROLLBACK, 'not him'); END`}},
	{"an index of searches that is out of step", "run `users-api index-search`", []string{
		"CREATE VIRTUAL TABLE users_search USING fts5(_name, content='', detail=none, tokenize='trigram')",
		`CREATE TRIGGER users_search_changed AFTER UPDATE ON users WHEN new.name = 'bad' BEGIN
			INSERT INTO users_search (users_search, rowid, _name) VALUES ('delete', old.id, old.name); END`}},
	{"a check", "CHECK constraint failed", []string{"ALTER TABLE users RENAME TO old",
		`CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT CHECK (name <> 'bad'), email TEXT, created_at TEXT)`,
		"INSERT INTO users (id, name, email, created_at) SELECT id, name, email, created_at FROM old"}},
}

// Rules that refuse to delete the user 1, and what the client is told.
var deleteRules = []tableRule{
	{"a trigger that fails afterwards", "not him", []string{`CREATE TRIGGER r AFTER DELETE ON users
		WHEN old.id = 1 BEGIN SELECT RAISE(FAIL, 'not him'); END`}},
	{"a trigger that ignores", "not stored: a trigger of the table users ignored it", []string{`CREATE TRIGGER r BEFORE DELETE ON users
		WHEN old.id = 1 BEGIN SELECT RAISE(IGNORE); END`}},
	{"a table that fails on conflict", "UNIQUE constraint failed: audit.what", []string{
		"CREATE TABLE audit (what TEXT UNIQUE ON CONFLICT FAIL)", "INSERT INTO audit VALUES ('taken')",
		`CREATE TRIGGER r AFTER DELETE ON users WHEN old.id = 1 BEGIN INSERT INTO audit VALUES ('taken'); END`}},
}

// upperEmails is a trigger that makes something else of a change than what was sent.
const upperEmails = `CREATE TRIGGER r AFTER UPDATE OF name ON users
	BEGIN UPDATE users SET email = upper(new.email) WHERE id = new.id; END`

// tracedDeletions make a deletion fail after it has left a trace in another table.
var tracedDeletions = []string{
	"CREATE TABLE audit (what TEXT UNIQUE ON CONFLICT FAIL)", "INSERT INTO audit VALUES ('taken')",
	"CREATE TABLE trace (what TEXT)", `CREATE TRIGGER r BEFORE DELETE ON users BEGIN
		INSERT INTO trace VALUES ('left'); INSERT INTO audit VALUES ('taken'); END`,
}

// RAISE(ROLLBACK) ends the transaction, and an import with it.
func TestARowThatEndsTheTransactionFailsAlone(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	other := program.OpenOther(t, p.DatabasePath())
	other.Do("CREATE TABLE trace (what text)", refusesBad("SELECT RAISE(ROLLBACK, 'not him')"))
	answers := program.AtOnce(t, p, other, 20, func(i int) (string, string) {
		name := map[bool]string{true: "bad", false: fmt.Sprint("n", i)}[i == 7 || i == 13]
		return "POST /api/users", program.Body(name, fmt.Sprintf("%d@example.org", i))
	})
	for _, bad := range []int{7, 13} {
		answers[bad].Expect(t, 500, program.ErrorBody("…not him…"))
	}
	if n := program.Count(answers, 201); n != 18 {
		t.Errorf("%d of 18 others were created", n)
	}
	program.ExpectStored(t, p, answers, 0)
	p.Do(t, "POST", program.CSV, "name,email\nn7,imported\nbad,b\nn13,also\n").Expect(t, 500, program.ErrorBody("…not him…"))
	program.ExpectStored(t, p, answers, 0)
	if traces := other.Ask("SELECT count(*) FROM trace"); traces != "0" {
		t.Errorf("refused writes have left %s traces in another table", traces)
	}
	p.Create(t, "Ada", "ada@example.org")
}

// ignoresWrites ignores changes of the first user, and that it is deleted.
var ignoresWrites = []string{
	"CREATE TRIGGER r BEFORE UPDATE ON users WHEN old.id = 1 BEGIN SELECT RAISE(IGNORE); END",
	"CREATE TRIGGER s BEFORE DELETE ON users WHEN old.id = 1 BEGIN SELECT RAISE(IGNORE); END",
}

// deletesWhatIsChanged deletes each user who is changed.
const deletesWhatIsChanged = "CREATE TRIGGER r AFTER UPDATE ON users BEGIN DELETE FROM users WHERE id = new.id; END"
