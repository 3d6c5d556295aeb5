package sqlitetest

import (
	"strings"
	"testing"
)

// RefusedTables are tables that cannot be served, and why.
var RefusedTables = []struct {
	Name   string
	Schema []string
	Why    string
}{
	{"a view", []string{
		"CREATE TABLE people (no INTEGER PRIMARY KEY, name, mail)",
		"CREATE VIEW users AS SELECT no AS id, name, mail AS email, NULL AS created_at FROM people",
		"CREATE TRIGGER t INSTEAD OF INSERT ON users BEGIN INSERT INTO people (name, mail) VALUES (new.name, new.email); END",
	}, "it is a view"},
	{"a view of nothing", []string{"CREATE VIEW users AS SELECT * FROM nowhere"}, "it is a view"},
	{"a virtual table", []string{"CREATE VIRTUAL TABLE users USING fts5(id, name, email, created_at)"}, "it is a virtual table"},
	{"WITHOUT ROWID", []string{"CREATE TABLE users (id INTEGER PRIMARY KEY, name, email, created_at) WITHOUT ROWID"}, "WITHOUT ROWID"},
	{"INT", []string{"CREATE TABLE users (id INT PRIMARY KEY, name, email, created_at)"}, "its id is no INTEGER PRIMARY KEY"},
	{"TEXT", []string{"CREATE TABLE users (id TEXT PRIMARY KEY, name, email, created_at)"}, "its id is no INTEGER PRIMARY KEY"},
	{"descending", []string{"CREATE TABLE users (id INTEGER PRIMARY KEY DESC, name, email, created_at)"}, "its id is no INTEGER PRIMARY KEY"},
	{"no key", []string{"CREATE TABLE users (id INTEGER, name, email, created_at)"}, "its id is no INTEGER PRIMARY KEY"},
	{"another key", []string{"CREATE TABLE users (no INTEGER PRIMARY KEY, id, name, email, created_at)"}, "its id is no INTEGER PRIMARY KEY"},
	{"a key of two", []string{"CREATE TABLE users (id INTEGER, name, email, created_at, PRIMARY KEY (id, name))"}, "its id is no INTEGER PRIMARY KEY"},
	{"no times", []string{"CREATE TABLE users (id INTEGER PRIMARY KEY, name, email)"},
		"SQLite cannot compile INSERT with its triggers: SQL logic error: table users has no column named created_at"},
	{"a generated name", []string{"CREATE TABLE users (id INTEGER PRIMARY KEY, name AS (email), email, created_at)"},
		`SQLite cannot compile INSERT with its triggers: SQL logic error: cannot INSERT into generated column "name"`},
	{"double quotes in a trigger for creations", []string{Table,
		`CREATE TRIGGER t AFTER INSERT ON users WHEN new.name = "bad" BEGIN SELECT 1; END`}, "SQLite cannot compile INSERT with its triggers: " +
		`SQL logic error: no such column: "bad" - should this be a string literal in single-quotes?`},
	{"double quotes in a trigger for changes of names", []string{Table,
		`CREATE TRIGGER t AFTER UPDATE OF name ON users BEGIN SELECT "bad"; END`}, "SQLite cannot compile UPDATE with its triggers: "},
	{"double quotes in a trigger for changes of emails", []string{Table,
		`CREATE TRIGGER t AFTER UPDATE OF email ON users BEGIN SELECT "bad"; END`}, "SQLite cannot compile UPDATE with its triggers: "},
	{"double quotes in a trigger for deletions", []string{Table,
		`CREATE TRIGGER t BEFORE DELETE ON users BEGIN SELECT "bad"; END`}, "SQLite cannot compile DELETE with its triggers: "},
	{"a trigger that names another table", []string{Table,
		"CREATE TRIGGER t BEFORE DELETE ON users BEGIN INSERT INTO nowhere VALUES (1); END"}, "no such table: main.nowhere"},
}

// ExpectCannotServe fails unless an error says why a table cannot be served, on one line.
func ExpectCannotServe(t testing.TB, what string, err error, why string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s was not refused", what)
		return
	}
	for _, text := range []string{"the table users cannot be served: ", why, "make it an ordinary table with id INTEGER PRIMARY KEY"} {
		if !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %q is not in %v", what, text, err)
		}
	}
}
