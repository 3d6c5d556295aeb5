//go:build !postgres

package program

import (
	"database/sql"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/glebarez/go-sqlite" // the same engine, in another process than the program's
)

// PostgreSQL says which engine the programs run on. The build tag postgres chooses the other one.
const PostgreSQL = false

// Statements that differ between the engines.
var (
	holdWrites  = []string{"BEGIN IMMEDIATE"}
	tryToWrite  = []string{"PRAGMA busy_timeout = 0", "BEGIN IMMEDIATE"}
	hasTried    = []string{"ROLLBACK", "PRAGMA busy_timeout = 500"}
	afterInsert []string
	empty       = []string{"DELETE FROM users", "DELETE FROM sqlite_sequence"}
)

const (
	fill = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < ?1)
		INSERT INTO users (name, email) SELECT 'User ' || i, 'user' || i || '@example.org' FROM n WHERE ?1 > 0`
	intact = "PRAGMA integrity_check"
)

// openDatabase opens a file, and makes it and its directory where they are missing.
func openDatabase(t testing.TB, path string) *sql.DB {
	t.Helper()
	Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	name := url.URL{Scheme: "file", Path: path, RawQuery: "_pragma=busy_timeout(500)"}
	db, err := sql.Open("sqlite", name.String())
	Must(t, err)
	return db
}

func isBusy(err error) bool {
	const busy = 5
	refused, ok := errors.AsType[*sqlite.Error](err)
	return ok && refused.Code()&0xff == busy
}

// EngineSettings are what a program needs to use the database of a directory.
func EngineSettings(testing.TB, string, ...string) []string { return nil }

// NeedsFile is for tests of the database file, which this engine has.
func NeedsFile(testing.TB, string) {}

// end ends what the tests of this process shared.
func end() {}

// What SQLite says, for the tests of several folders.
const (
	DuplicateEmail = `{"error":"constraint failed: UNIQUE constraint failed: users.email (2067)"}`
	NoTable        = "SQL logic error: no such table: users (1)"
	WritesHeld     = "database is locked (5)" // to a write that another program's lock holds up
)

// DatabaseBytes is the size of the database file.
func DatabaseBytes(t *testing.T, p *Program) float64 {
	t.Helper()
	return float64(bytesOf(t, p.DatabasePath()))
}

// WALBytes is the size of the -wal file.
func WALBytes(t *testing.T, p *Program) int64 {
	t.Helper()
	return bytesOf(t, p.DatabasePath()+"-wal")
}

func bytesOf(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	Must(t, err)
	return info.Size()
}
