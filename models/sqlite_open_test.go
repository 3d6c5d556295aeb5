package models_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	_ "github.com/glebarez/go-sqlite" // the driver of database/sql

	"users-api/models"
)

var sqlite = database{
	name: "SQLite",
	empty: func(t testing.TB) models.Database {
		return models.Database{Path: filepath.Join(t.TempDir(), "data", "users.db")}
	},
	other: func(t testing.TB, at models.Database) *sql.DB {
		t.Helper()
		db, err := sql.Open("sqlite", "file:"+at.Path+"?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)")
		if err != nil {
			t.Fatal(err)
		}
		db.SetMaxOpenConns(1)
		t.Cleanup(func() { _ = db.Close() })
		return db
	},
	odd: []string{
		"VACUUM",
		"CREATE TRIGGER t AFTER INSERT ON users BEGIN UPDATE users SET name = name || '!' WHERE id = 1; END",
		"CREATE TRIGGER u AFTER UPDATE ON users WHEN old.id <> 600 BEGIN UPDATE users SET name = name || '?' WHERE id = 600; END",
		"DROP TRIGGER t; DROP TRIGGER u",
		"CREATE TRIGGER users_changes_by_us AFTER INSERT ON users BEGIN UPDATE users SET name = name || '+' WHERE id = 1; END",
		"DROP TRIGGER users_changes_by_us",
		"CREATE TRIGGER users_search_by_us AFTER INSERT ON users BEGIN UPDATE users SET name = name || '-' WHERE id = 1; END",
		"DROP TRIGGER users_search_by_us",
		`CREATE TABLE elsewhere (no INTEGER PRIMARY KEY, what);
			CREATE TRIGGER a AFTER INSERT ON users BEGIN INSERT INTO elsewhere VALUES (-new.id, new.name); END;
			CREATE TRIGGER b BEFORE INSERT ON users BEGIN INSERT INTO elsewhere VALUES (NULL, new.name); END;
			CREATE TRIGGER c AFTER INSERT ON users WHEN new.email NOT LIKE '%copy' BEGIN
				INSERT INTO users (name, email) VALUES (new.name, new.email || ' copy'); END`,
		"DROP TRIGGER a; DROP TRIGGER b; DROP TRIGGER c",
		"REPLACE INTO users (id, name, email) VALUES (20, 'replaced', 'many21')",
		"ALTER TABLE users RENAME TO old; CREATE TABLE users (created_at, email TEXT UNIQUE, name TEXT, id INTEGER PRIMARY KEY); " +
			"INSERT INTO users SELECT created_at, email, 'copied', id FROM old;" + ownColumns(),
	},
}

// ownColumns adds the columns of the optional fields that the model has, if it has any.
func ownColumns() (statements string) {
	for _, name := range models.NewFields().OptionalNames() {
		statements += "ALTER TABLE users ADD COLUMN " + name + " TEXT;"
	}
	return statements
}

func init() { databases = append(databases, sqlite) }
