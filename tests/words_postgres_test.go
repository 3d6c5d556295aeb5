//go:build postgres

package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"users-api/tests/postgresql"
	"users-api/tests/program"
)

// What PostgreSQL says in its own words, and how it is asked for what SQLite has otherwise. words_sqlite_test.go is its
// other side.
const (
	duplicateEmail = `{"error":"ERROR: duplicate key value violates unique constraint \"uni_users_email\" (SQLSTATE 23505)"}`
	duplicateCode  = "storage_code=23505"
	noTable        = `ERROR: relation "users" does not exist (SQLSTATE 42P01)`
	noTableCode    = "storage_code=42P01 "
	writesHeld     = "the PostgreSQL server did not do it in time, and nothing was changed"
	importHeld     = "canceling statement due to lock timeout (SQLSTATE 55P03)"

	nul, nulEscaped = "chr(1)", "%01" // as an expression and in a URL: PostgreSQL has no NUL
	firstCharacter  = rune(1)         // that a user may have

	badDatabase = "DATABASE_URL=mysql://127.0.0.1/users" // a setting with which nothing can be opened
)

// nulStored is what becomes of a NUL byte in a body: PostgreSQL refuses it.
var nulStored = scenario{"NUL is refused by storage", post, `{"name":"\"\\\u0000","email":"a@b"}`, 500,
	`{"error":"ERROR: invalid byte sequence for encoding \"UTF8\": 0x00 (SQLSTATE 22021)"}`}

// nulChanged is what becomes of a NUL byte in a change.
var nulChanged = scenario{"NUL is refused by storage in a change", patch, `{"name":"\u0000"}`, 500, nulStored.answer}

// storing reports whether the program is in the middle of a large import.
func storing(t *testing.T, p *program.Program) bool {
	t.Helper()
	return postgresql.Ask(t, program.DatabaseURL(t, p.DataDir), `SELECT (count(*) > 0)::text FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_xid IS NOT NULL`) == "true"
}

// readsNothing reports whether nobody reads the database at the moment.
func readsNothing(_ *testing.T, _ *program.Program, other *program.Other) bool {
	return other.Ask(`SELECT (count(*) = 0)::text FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_xmin IS NOT NULL`) == "true"
}

// databaseBytes is the size of the table with its index.
func databaseBytes(t *testing.T, p *program.Program) (bytes float64) {
	t.Helper()
	size := postgresql.Ask(t, program.DatabaseURL(t, p.DataDir), "SELECT pg_total_relation_size('users')::text")
	if _, err := fmt.Sscan(size, &bytes); err != nil {
		t.Fatal(err)
	}
	return bytes
}

// walBytes is for tests of the -wal file, which PostgreSQL has for the whole cluster.
func walBytes(*testing.T, *program.Program) int64 { return 0 }

// comments of pg_dump name versions and random keys.
var dumpComments = regexp.MustCompile(`(?m)^(--.*|\\.*|)\n`)

// schemaOf returns the definitions of everything in the database of a directory, as pg_dump sees them.
func schemaOf(t *testing.T, directory string, _ *program.Other) string {
	t.Helper()
	dump, err := exec.LookPath(filepath.Join(os.Getenv("POSTGRES_BIN"), "pg_dump"))
	if err != nil {
		t.Skipf("needs pg_dump: %v", err)
	}
	text, err := exec.Command(dump, "--schema-only", "--dbname="+program.DatabaseURL(t, directory)).Output()
	if err != nil {
		t.Fatal(err)
	}
	return dumpComments.ReplaceAllString(string(text), "")
}
