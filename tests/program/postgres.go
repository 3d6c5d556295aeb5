//go:build postgres

package program

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"users-api/tests/postgresql"
)

// PostgreSQL says which engine the programs run on: go test -tags postgres
const PostgreSQL = true

// Statements that differ between the engines.
var (
	holdWrites  = []string{"BEGIN", "LOCK TABLE users IN EXCLUSIVE MODE"}
	tryToWrite  = []string{"BEGIN", "LOCK TABLE users IN EXCLUSIVE MODE NOWAIT"}
	hasTried    = []string{"ROLLBACK"}
	afterInsert = []string{"SELECT setval(pg_get_serial_sequence('users', 'id'), max(id)) FROM users"}
	empty       = []string{"TRUNCATE users RESTART IDENTITY"}
)

const (
	fill = `INSERT INTO users (name, email)
		SELECT 'User ' || i, 'user' || i || '@example.org' FROM generate_series(1, $1::int) AS i`
	intact = `SELECT CASE WHEN count(*) = count(DISTINCT id) AND count(*) = count(DISTINCT email) THEN 'ok'
		ELSE 'a user is there twice' END FROM users`
)

// databases are the URLs of this process's tests by directory: the database of one is what the file in it is to SQLite.
var databases = struct {
	sync.Mutex
	urls map[string]string
}{urls: map[string]string{}}

// DatabaseURL returns the URL of the database that stands for a directory. It is made when a test asks for the first
// time, and dropped with the test that did.
func DatabaseURL(t testing.TB, directory string) string {
	t.Helper()
	directory = filepath.Clean(directory)
	databases.Lock()
	defer databases.Unlock()
	if databases.urls[directory] == "" {
		databases.urls[directory] = postgresql.Shared(t).NewDatabase(t)
	}
	return databases.urls[directory]
}

// openDatabase opens the database that stands for a file.
func openDatabase(t testing.TB, path string) *sql.DB {
	t.Helper()
	config, err := pgx.ParseConfig(DatabaseURL(t, filepath.Dir(path)))
	Must(t, err)
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol // tables change between statements
	return stdlib.OpenDB(*config)
}

// isBusy: PostgreSQL waits for a lock by itself.
func isBusy(error) bool { return false }

// EngineSettings are what a program needs to use the database of a directory, unless it is told of another.
func EngineSettings(t testing.TB, directory string, settings ...string) []string {
	t.Helper()
	ofDatabase := func(setting string) bool { return strings.HasPrefix(setting, "DATABASE_URL") }
	if slices.ContainsFunc(settings, ofDatabase) {
		return nil
	}
	return []string{"DATABASE_URL=" + DatabaseURL(t, directory)}
}

// NeedsFile skips a test of what only SQLite has.
func NeedsFile(t testing.TB, what string) { t.Helper(); t.Skip("of SQLite alone: " + what) }

// end ends what the tests of this process shared.
func end() { postgresql.End() }

// What PostgreSQL says, for the tests of several folders.
const (
	DuplicateEmail = `{"error":"ERROR: duplicate key value violates unique constraint \"uni_users_email\" (SQLSTATE 23505)"}`
	NoTable        = `ERROR: relation "users" does not exist (SQLSTATE 42P01)`
	WritesHeld     = "another transaction of PostgreSQL held a lock that this write needs, and nothing was changed"
)

// DatabaseBytes is the size of the table with its index.
func DatabaseBytes(t *testing.T, p *Program) (bytes float64) {
	t.Helper()
	size := postgresql.Ask(t, DatabaseURL(t, p.DataDir), "SELECT pg_total_relation_size('users')::text")
	_, err := fmt.Sscan(size, &bytes)
	Must(t, err)
	return bytes
}

// WALBytes is for tests of the -wal file, which PostgreSQL has for the whole cluster.
func WALBytes(*testing.T, *Program) int64 { return 0 }
