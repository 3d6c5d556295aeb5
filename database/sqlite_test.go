package database_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	_ "github.com/glebarez/go-sqlite" // the driver of database/sql

	"users-api/database"
	"users-api/tests/failing"
	"users-api/tests/program"
)

var sqlite = engine{
	name: "SQLite",
	empty: func(t testing.TB) database.Location {
		return database.Location{Path: filepath.Join(t.TempDir(), "data", "users.db")}
	},
	other: func(t testing.TB, at database.Location) *sql.DB {
		t.Helper()
		return connect(t, "sqlite", "file:"+at.Path+"?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)")
	},
	failing: func(t testing.TB, statements *failing.Statements) database.Location {
		return database.Location{Path: failing.File(t, statements)}
	},
}

func init() { databases = append(databases, sqlite) }

// The version of SQLite matters: those before 3.51.3 can corrupt a database when its -wal file is reset.
func TestSQLiteIsNewEnough(t *testing.T) {
	t.Parallel()
	other := sqlite.other(t, database.Location{Path: filepath.Join(t.TempDir(), "users.db")})
	var version string
	program.Must(t, other.QueryRow("SELECT sqlite_version()").Scan(&version))
	var major, minor, patch int
	if _, err := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch); err != nil || major*1_000_000+minor*1000+patch < 3_051_003 {
		t.Errorf("SQLite is %s", version)
	}
}
