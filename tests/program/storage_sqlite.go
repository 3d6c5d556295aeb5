//go:build !postgres

package program

import (
	"os"
	"testing"
)

// What SQLite says, for the tests of several folders. storage_postgres.go is the other side.
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
