//go:build !postgres

package compatibility

import (
	"strings"
	"testing"

	"users-api/tests/program"
)

const (
	ordinaryID   = "id INTEGER PRIMARY KEY"
	noOrdinaryID = "its id is no INTEGER PRIMARY KEY: make it an ordinary table with id INTEGER PRIMARY KEY, or set"
	noText       = " has no type of text: make the table anew with "
)

var refusedTables = map[string]refusedTable{
	"a view": {"CREATE VIEW users AS SELECT 1 AS id, '' AS name, '' AS email, '' AS created_at",
		"it is a view: make it an ordinary table"},
	"a virtual table": {"CREATE VIRTUAL TABLE users USING fts5(id, name, email, created_at)",
		"it is a virtual table: make it an ordinary table"},
	"a table without row ids": {with("id INTEGER PRIMARY KEY") + " WITHOUT ROWID", "it was created WITHOUT ROWID"},
	"an id of another number": {with("id INT PRIMARY KEY"), noOrdinaryID},
	"an id that descends":     {with("id INTEGER PRIMARY KEY DESC"), noOrdinaryID},
	"an id that is no key":    {with("id INTEGER"), noOrdinaryID},
	"a key of two columns": {"CREATE TABLE users (id INTEGER, name, email, created_at, PRIMARY KEY (id, name))",
		noOrdinaryID},
	"a missing column": {"CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT)",
		"it has no column created_at: add it, or give users-api another database"},
	"an id in another letter case": {with("iD INTEGER PRIMARY KEY"), "its column iD is not spelled id: rename it"},
	"a time in another letter case": {"CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT, Created_At)",
		"its column Created_At is not spelled created_at: rename it"},
	"a field in another letter case": {with("id INTEGER PRIMARY KEY, Room TEXT"),
		"its column Room is not spelled room: rename it, take it out of USER_FIELDS, or set DATA_DIR"},
	"a name without a type": {"CREATE TABLE users (id INTEGER PRIMARY KEY, name, email TEXT, created_at)",
		"its column name" + noText + "name TEXT"},
	"an email of numbers": {"CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email NUMERIC, created_at)",
		"its column email" + noText + "email TEXT"},
	"a field that SQLite takes for an integer": {with("id INTEGER PRIMARY KEY, room CHARINT"),
		"its column room" + noText + "room TEXT, take it out of USER_FIELDS, or set DATA_DIR"},
	"an email that is computed": {"CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email AS (1), created_at)",
		"its column email is generated: make it an ordinary column"},
	"a time that is computed": {"CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT, created_at AS (1))",
		"its column created_at is generated"},
}

// with is a table with some columns and those of texts and of the time.
func with(columns string) string {
	return "CREATE TABLE users (" + columns + ", name TEXT, email TEXT UNIQUE, created_at)"
}

// Another program may put such a table in the place of the one that is served, and an ordinary one later.
func TestATableThatCannotBeServedAnyMoreIsAClear500(t *testing.T) {
	t.Parallel()
	for name, drop := range map[string]string{"a view": "DROP VIEW users", "a missing column": "DROP TABLE users"} {
		p := program.Serve(t)
		p.Create(t, "Ada", "ada@example.org")
		p.List(t)
		other := program.OpenOther(t, p.DatabasePath())
		other.Do("DROP TABLE users", refusedTables[name].schema)
		for _, request := range []string{"GET /api/users", "POST /api/users", "POST /api/users.ndjson",
			"PATCH /api/users/1", "DELETE /api/users/1"} {
			method, path, _ := strings.Cut(request, " ")
			p.Do(t, method, path, program.Body("Alan", "alan@example.org")).Expect(t, 500,
				"…the table users cannot be served: "+refusedTables[name].why+"…")
		}
		p.WaitForLog(t, `storage_error="the table users cannot be served"`)
		other.Do(drop, with(ordinaryID))
		p.Create(t, "Grace", "grace@example.org")
		p.ExpectUsers(t, "Grace")
	}
}
