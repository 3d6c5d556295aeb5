package program

import (
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	_ "github.com/glebarez/go-sqlite" // the same engine, in another process than the program's
)

// Other is another program that has opened the same database file.
type Other struct {
	t  testing.TB
	db *sql.DB
}

// OpenOther opens a database file as another program does, making it and its directory where they are missing.
// With one connection, so that a transaction can be written as plain statements.
func OpenOther(t testing.TB, path string) *Other {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	name := url.URL{Scheme: "file", Path: path, RawQuery: "_pragma=busy_timeout(20000)"}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return &Other{t, db}
}

// On returns the same program, failing another test: a fuzz target has one of its own.
func (o *Other) On(t testing.TB) *Other { return &Other{t, o.db} }

// Do runs statements.
func (o *Other) Do(statements ...string) {
	o.t.Helper()
	for _, statement := range statements {
		if _, err := o.db.Exec(statement); err != nil {
			o.t.Fatalf("%s: %v", statement, err)
		}
	}
}

// Ask returns the one text that a query selects.
func (o *Other) Ask(query string) (text string) {
	o.t.Helper()
	if err := o.db.QueryRow(query).Scan(&text); err != nil {
		o.t.Fatalf("%s: %v", query, err)
	}
	return text
}

// Close closes the file; it is closed at the end of the test otherwise.
func (o *Other) Close() { _ = o.db.Close() }

// Fill puts n users into the table: User 1, user1@example.org and so on.
func (o *Other) Fill(n int) {
	o.t.Helper()
	o.Do("BEGIN IMMEDIATE")
	if _, err := o.db.Exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i <= ?1)
		INSERT INTO users (name, email) SELECT 'User ' || i, 'user' || i || '@example.org' FROM n WHERE i <= ?1`, n); err != nil {
		o.t.Fatal(err)
	}
	o.Do("COMMIT")
}
