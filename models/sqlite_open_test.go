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
}

func init() { databases = append(databases, sqlite) }
