//go:build !postgres

package compatibility

import (
	"path/filepath"
	"strings"
	"testing"

	"users-api/tests/program"
)

// refusedTables are tables of other programs that cannot be served, and why.
var refusedTables = map[string]struct{ drop, schema, why, remedy string }{
	"a view": {"DROP VIEW users", "CREATE TABLE people (id INTEGER PRIMARY KEY, name, email, created_at); CREATE VIEW users AS SELECT * FROM people",
		"it is a view", "make it an ordinary table"},
	"a virtual table": {"DROP TABLE users", "CREATE VIRTUAL TABLE users USING fts5(id, name, email, created_at)",
		"it is a virtual table", "make it an ordinary table"},
	"a table without row ids": {"DROP TABLE users",
		"CREATE TABLE users (id INTEGER PRIMARY KEY, name, email, created_at) WITHOUT ROWID", "it was created WITHOUT ROWID", "make it an ordinary table"},
	"an id of text":           {"DROP TABLE users", otherID("id TEXT PRIMARY KEY"), noOrdinaryID, "make it an ordinary table"},
	"an id of another number": {"DROP TABLE users", otherID("id INT PRIMARY KEY"), noOrdinaryID, "make it an ordinary table"},
	"an id that descends":     {"DROP TABLE users", otherID("id INTEGER PRIMARY KEY DESC"), noOrdinaryID, "make it an ordinary table"},
	"an id that is no key":    {"DROP TABLE users", otherID("id INTEGER"), noOrdinaryID, "make it an ordinary table"},
	"a key of two columns": {"DROP TABLE users", "CREATE TABLE users (id INTEGER, name, email, created_at, PRIMARY KEY (id, name))",
		noOrdinaryID, "make it an ordinary table"},
	"a missing column": {"DROP TABLE users", "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT)",
		"it has no column created_at", "add it"},
	"an id in another letter case": {"DROP TABLE users", "CREATE TABLE users (iD INTEGER PRIMARY KEY, name TEXT, email TEXT, created_at TEXT)",
		"its column iD is not spelled id", "rename it"},
	"an email in another letter case": {"DROP TABLE users", "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, Email TEXT, created_at TEXT)",
		"its column Email is not spelled email", "rename it"},
	"a time in another letter case": {"DROP TABLE users", "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT, Created_At)",
		"its column Created_At is not spelled created_at", "rename it"},
	"a name without a type": {"DROP TABLE users", "CREATE TABLE users (id INTEGER PRIMARY KEY, name, email TEXT, created_at TEXT)",
		"its column name has no type of text", "name TEXT"},
	"an email of numbers": {"DROP TABLE users", "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email NUMERIC, created_at TEXT)",
		"its column email has no type of text", "email TEXT"},
	"a name that SQLite takes for an integer": {"DROP TABLE users", "CREATE TABLE users (id INTEGER PRIMARY KEY, name CHARINT, email TEXT, created_at TEXT)",
		"its column name has no type of text", "name TEXT"},
	"an email that is computed": {"DROP TABLE users", "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT AS (name || '@x'), created_at TEXT)",
		"its column email is generated", "an ordinary column"},
	"a time that is computed": {"DROP TABLE users", "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT, created_at AS (name) STORED)",
		"its column created_at is generated", "an ordinary column"},
}

const noOrdinaryID = "its id is no INTEGER PRIMARY KEY"

// otherID is a table whose column for ids is defined in another way.
func otherID(column string) string {
	return "CREATE TABLE users (" + column + ", name, email, created_at)"
}

const usersOfAnother = "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT UNIQUE, created_at)"

func TestATableThatCannotBeServedEndsTheStartWithOneLine(t *testing.T) {
	t.Parallel()
	for name, table := range refusedTables {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			path := filepath.Join(directory, "users.db")
			program.OpenOther(t, path).Do(table.schema)
			program.ExpectRefusal(t, program.Launch(t, program.Path(), "DATA_DIR="+directory), path, "the table users cannot be served: ",
				table.why, table.remedy)
		})
	}
}

// Another program may put such a table in the place of the one that is served, and an ordinary one later.
func TestATableThatCannotBeServedAnyMoreIsAClear500(t *testing.T) {
	t.Parallel()
	for name, table := range refusedTables {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := program.Serve(t)
			p.Create(t, "Ada", "ada@example.org")
			p.List(t)
			alone := program.Serve(t, "DATA_DIR="+p.DataDir, "LIST_MEMORY_MIB=0") // reads one user without a list
			alone.Do(t, "GET", "/api/users/1", "").Expect(t, 200, "…")
			other := program.OpenOther(t, p.DatabasePath())
			other.Do("DROP TABLE users", table.schema)
			for _, request := range [][3]string{
				{"GET", "/api/users", ""}, {"POST", "/api/users", program.Body("Alan", "alan@example.org")}, {"PATCH", "/api/users/1", `{"name":"B"}`},
				{"POST", "/api/users.ndjson", program.Body("Alan", "alan@example.org")}, {"DELETE", "/api/users/1", ""},
			} {
				p.Do(t, request[0], request[1], request[2]).Expect(t, 500, "…the table users cannot be served: "+table.why+"…")
			}
			p.WaitForLog(t, `storage_error="the table users cannot be served"`)
			one := func() program.Answer { return alone.Do(t, "GET", "/api/users/1", "") }
			program.WaitFor(t, "the table is looked at again", func() bool { return strings.Contains(one().Body, "cannot be served") })
			for range 50 {
				one().Expect(t, 500, "…the table users cannot be served: "+table.why+"…")
			}
			other.Do(table.drop, usersOfAnother)
			p.Create(t, "Grace", "grace@example.org")
			p.ExpectUsers(t, "Grace")
		})
	}
}
