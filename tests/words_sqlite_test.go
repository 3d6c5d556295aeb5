//go:build !postgres

package tests

import (
	"os"
	"testing"

	"users-api/tests/program"
)

// What SQLite says in its own words, and how it is asked for what other engines have otherwise.
// words_postgres_test.go is its other side.
const (
	duplicateEmail = `{"error":"constraint failed: UNIQUE constraint failed: users.email (2067)"}`
	duplicateCode  = "storage_code=2067"
	noTable        = "SQL logic error: no such table: users (1)"
	noTableCode    = "storage_code=1 "
	writesHeld     = "database is locked (5)"
	importHeld     = writesHeld

	nul, nulEscaped = "char(0)", "%00" // as an expression and in a URL
	firstCharacter  = rune(0)          // that a user may have

	badDatabase = "DATA_DIR=/dev/null/data" // a setting with which nothing can be opened
)

// nulStored is what becomes of a NUL byte in a body: it is stored.
var nulStored = scenario{"quotes, backslashes and NUL come back", post, `{"name":"\"\\\u0000","email":"a@b"}`, 201,
	`{"id":2,"name":"\"\\\u0000","email":"a@b"}`}

// nulChanged is what becomes of a NUL byte in a change.
var nulChanged = scenario{"NUL is stored", patch, `{"name":"\u0000"}`, 200, `{"id":1,"name":"\u0000","email":"…`}

// storing reports whether the program is in the middle of a large import.
func storing(t *testing.T, p *program.Program) bool { t.Helper(); return walBytes(t, p) > 2<<20 }

// readsNothing reports whether nobody reads the database at the moment.
func readsNothing(t *testing.T, p *program.Program, other *program.Other) bool {
	t.Helper()
	other.Do("PRAGMA wal_checkpoint(TRUNCATE)")
	return walBytes(t, p) == 0
}

func databaseBytes(t *testing.T, p *program.Program) float64 {
	return float64(bytesOf(t, p.DatabasePath()))
}

func walBytes(t *testing.T, p *program.Program) int64 {
	t.Helper()
	return bytesOf(t, p.DatabasePath()+"-wal")
}

func bytesOf(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// schemaOf returns the definitions of everything in the database of a directory.
func schemaOf(_ *testing.T, _ string, other *program.Other) string {
	return other.Ask("SELECT group_concat(type || name || sql, char(10)) FROM sqlite_master")
}
