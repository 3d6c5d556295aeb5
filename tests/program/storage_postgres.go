//go:build postgres

package program

import (
	"fmt"
	"testing"

	"users-api/tests/postgresql"
)

// What PostgreSQL says, for the tests of several folders. storage_sqlite.go is the other side.
const (
	DuplicateEmail = `{"error":"ERROR: duplicate key value violates unique constraint \"uni_users_email\" (SQLSTATE 23505)"}`
	NoTable        = `ERROR: relation "users" does not exist (SQLSTATE 42P01)`
	WritesHeld     = "the PostgreSQL server did not do it in time, and nothing was changed"
)

// DatabaseBytes is the size of the table with its index.
func DatabaseBytes(t *testing.T, p *Program) (bytes float64) {
	t.Helper()
	size := postgresql.Ask(t, DatabaseURL(t, p.DataDir), "SELECT pg_total_relation_size('users')::text")
	if _, err := fmt.Sscan(size, &bytes); err != nil {
		t.Fatal(err)
	}
	return bytes
}

// WALBytes is for tests of the -wal file, which PostgreSQL has for the whole cluster.
func WALBytes(*testing.T, *Program) int64 { return 0 }
