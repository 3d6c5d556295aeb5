package program

import (
	"database/sql"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/glebarez/go-sqlite" // the same engine, in another process than the program's
)

// Other is another program that has opened the same database file.
type Other struct {
	t  testing.TB
	db *sql.DB
}

// OpenOther opens a database file as another program does, making it and its directory where they are missing. It
// has a single connection, so that a transaction can be written as plain statements.
func OpenOther(t testing.TB, path string) *Other {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	name := url.URL{Scheme: "file", Path: path, RawQuery: "_pragma=busy_timeout(500)"}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return &Other{t, db}
}

// On returns the same program for another test to use: each run of a fuzz target is one.
func (o *Other) On(t testing.TB) *Other { return &Other{t, o.db} }

// Do runs statements.
func (o *Other) Do(statements ...string) {
	o.t.Helper()
	for _, statement := range statements {
		o.insist(statement, func() error {
			_, err := o.db.Exec(statement)
			return err
		})
	}
}

// Ask returns the one text that a query selects.
func (o *Other) Ask(query string) (text string) {
	o.t.Helper()
	o.insist(query, func() error { return o.db.QueryRow(query).Scan(&text) })
	return text
}

// insist runs a statement again for as long as the database is locked. SQLite waits longer and longer between its
// own attempts, so that busy writers can starve it; a fresh attempt starts with short waits.
func (o *Other) insist(statement string, run func() error) {
	o.t.Helper()
	const busy = 5
	for deadline := time.Now().Add(Patience); ; {
		err := run()
		if err == nil {
			return
		}
		refused, ok := errors.AsType[*sqlite.Error](err)
		if !ok || refused.Code()&0xff != busy || time.Now().After(deadline) {
			o.t.Fatalf("%s: %v", statement, err)
		}
	}
}

// Close closes the file; otherwise it is closed at the end of the test.
func (o *Other) Close() { _ = o.db.Close() }

// Fill puts n users into the table: User 1, user1@example.org and so on.
func (o *Other) Fill(n int) {
	o.t.Helper()
	o.Do("BEGIN IMMEDIATE")
	if _, err := o.db.Exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < ?1)
		INSERT INTO users (name, email)
		SELECT 'User ' || i, 'user' || i || '@example.org' FROM n WHERE ?1 > 0`, n); err != nil {
		o.t.Fatal(err)
	}
	o.Do("COMMIT")
}
