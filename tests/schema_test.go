package tests

import (
	"path/filepath"
	"testing"

	"users-api/tests/program"
)

// The tables of other programs.
var foreignSchemas = map[string]string{
	"as the Node service had it": `CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,
		email TEXT UNIQUE NOT NULL, created_at DATETIME DEFAULT CURRENT_TIMESTAMP)`,
	"in another letter case": `CREATE TABLE "Users" (Id INTEGER PRIMARY KEY AUTOINCREMENT, Name TEXT,
		Email TEXT UNIQUE, Created_At DATETIME)`,
	"with comments": "CREATE TABLE users (\n id INTEGER PRIMARY KEY AUTOINCREMENT, -- the id, /* really */\n" +
		" name VARCHAR(20) NOT NULL, email VARCHAR(99), created_at TIMESTAMP, /* once */ UNIQUE (email))",
	"with extra columns": `CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT,
		phone TEXT DEFAULT '-', email TEXT UNIQUE, created_at TEXT, updated_at TEXT DEFAULT CURRENT_TIMESTAMP,
		deleted_at TEXT)`,
}

func TestADatabaseOfAnotherProgramIsServedAndLeftAsItWas(t *testing.T) {
	t.Parallel()
	const schemaOf = "SELECT group_concat(type || name || sql, char(10)) FROM sqlite_master"
	for name, schema := range foreignSchemas {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			other := program.OpenOther(t, filepath.Join(directory, "users.db"))
			other.Do(schema, "CREATE INDEX by_name ON users (name)", "CREATE TABLE audit (what TEXT)",
				"CREATE TRIGGER note AFTER INSERT ON users BEGIN INSERT INTO audit VALUES (new.email); END",
				"INSERT INTO users (name, email) VALUES ('A', 'a@b'), ('B', 'b@b'), ('C', 'c@b')",
				"DELETE FROM users WHERE id = 3")
			before := other.Ask(schemaOf)

			p := start(t, "DATA_DIR="+directory)
			if id := p.Create(t, "D", "d@b"); id != 4 {
				t.Errorf("the new user has the id %d, and 3 was the last one used", id)
			}
			users := p.List(t)
			if len(users) != 3 || users[0].Name != "A" || users[2].Email != "d@b" || !isTime(users[2].CreatedAt) {
				t.Errorf("the list is %v", users)
			}
			p.Stop(t)
			if after := other.Ask(schemaOf); after != before {
				t.Errorf("the schema was\n%s\nand is\n%s", before, after)
			}
			if audited := other.Ask("SELECT count(*) FROM audit WHERE what = 'd@b'"); audited != "1" {
				t.Errorf("the trigger ran %s times", audited)
			}
		})
	}
}

func TestAViewNamedUsersIsListed(t *testing.T) {
	t.Parallel()
	p, _ := serveFile(t, "CREATE TABLE people (no INTEGER PRIMARY KEY, name TEXT, mail TEXT)",
		"INSERT INTO people VALUES (7, 'A', 'a@b')",
		"CREATE VIEW users AS SELECT no AS id, name, mail AS email, NULL AS created_at FROM people")
	const want = `[{"id":7,"name":"A","email":"a@b","created_at":""}]`
	if list := p.Do(t, "GET", "/api/users", "").Body; list != want {
		t.Errorf("the list is %s", list)
	}
}
