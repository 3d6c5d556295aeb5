// Package sqlitetest makes database files, and uses them, as another program does. It is for the tests of models/sqlite
// and of the packages below it.
package sqlitetest

import (
	"database/sql"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	_ "github.com/glebarez/go-sqlite" // the driver of database/sql
)

// Table creates a table users that can be served.
const Table = "CREATE TABLE users (id INTEGER PRIMARY KEY, name, email UNIQUE, created_at)"

// Open opens a database in WAL mode on one connection, until the end of the test.
func Open(t testing.TB, path string) *sql.DB {
	t.Helper()
	parameters := url.Values{
		"_txlock": {"immediate"}, "_pragma": {"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)"},
	}
	return open(t, (&url.URL{Scheme: "file", Path: path, RawQuery: parameters.Encode()}).String())
}

func open(t testing.TB, source string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", source)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Run runs statements.
func Run(t interface{ Fatalf(string, ...any) }, db *sql.DB, statements ...string) {
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// File makes a database by statements, closes it and returns its path. It has a rollback journal unless a statement says
// otherwise.
func File(t testing.TB, statements ...string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "users.db")
	db := open(t, path)
	Run(t, db, statements...)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// Closed makes a database in WAL mode with one user, as a service that has stopped leaves it.
func Closed(t testing.TB, email string) (path string) {
	t.Helper()
	return File(t, "PRAGMA journal_mode = WAL", `CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,
		email TEXT NOT NULL UNIQUE, created_at DATETIME DEFAULT (CURRENT_TIMESTAMP))`, insert(email))
}

func insert(email string) string {
	return "INSERT INTO users (name, email) VALUES ('n', '" + email + "')"
}

// Killed makes a database whose last commit, with one user, is in its -wal file, as a killed process leaves it.
func Killed(t testing.TB, email string) (path string) {
	t.Helper()
	live := Closed(t, "deleted")
	Run(t, Open(t, live), "DELETE FROM users", insert(email))
	return copied(t, live, "", "-wal", "-shm")
}

// Interrupted makes a database whose file holds a part of a transaction that was not committed, and whose -journal file
// has what was there before, as a killed process leaves it. One user was committed.
func Interrupted(t testing.TB) (path string) {
	t.Helper()
	live := Closed(t, "committed")
	Run(t, Open(t, live), "PRAGMA journal_mode = DELETE", "PRAGMA cache_size = 5", "BEGIN IMMEDIATE",
		`INSERT INTO users (name, email)
		 WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000) SELECT 'uncommitted', i FROM n`)
	return copied(t, live, "", "-journal")
}

// copied copies a database and files beside it.
func copied(t testing.TB, live string, endings ...string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "users.db")
	for _, ending := range endings {
		CopyFile(t, live+ending, path+ending)
	}
	return path
}

// CopyFile copies a file.
func CopyFile(t testing.TB, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err := errors.Join(err, os.WriteFile(to, text, 0o600)); err != nil {
		t.Fatal(err)
	}
}

// Link makes a symbolic link in another directory.
func Link(t testing.TB, path string) string {
	t.Helper()
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	return link
}

// Emails returns the emails in a database, by id.
func Emails(t testing.TB, path string) string {
	t.Helper()
	var emails sql.NullString
	if err := Open(t, path).QueryRow("SELECT group_concat(email, ' ' ORDER BY id) FROM users").Scan(&emails); err != nil {
		t.Fatal(err)
	}
	return emails.String
}
