package program

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"
)

// Other is another program that has opened the same database.
type Other struct {
	t    testing.TB
	db   *sql.DB
	conn *sql.Conn
}

// OpenOther opens a database as another program does: that of [Program.DatabasePath], or one that a program is going to
// open, which is made where it is missing. It has a single connection, so that a transaction can be written as plain
// statements.
func OpenOther(t testing.TB, path string) *Other {
	t.Helper()
	db := openDatabase(t, path)
	conn, err := db.Conn(context.Background())
	Must(t, err)
	other := &Other{t, db, conn}
	t.Cleanup(other.Close)
	return other
}

// DatabasePath is where the program keeps its users. With PostgreSQL there is no such file, and the path stands for the
// database that belongs to the directory.
func (p *Program) DatabasePath() string { return filepath.Join(p.DataDir, "users.db") }

// On returns the same program for another test to use: each run of a fuzz target is one.
func (o *Other) On(t testing.TB) *Other { return &Other{t, o.db, o.conn} }

func (o *Other) Do(statements ...string) {
	o.t.Helper()
	for _, each := range statements {
		for _, statement := range withOwn(each) {
			o.insist(statement, func() error {
				_, err := o.conn.ExecContext(context.Background(), statement)
				return err
			})
		}
	}
}

// Ask returns the one text that a query selects.
func (o *Other) Ask(query string) (text string) {
	o.t.Helper()
	o.insist(query, func() error { return o.conn.QueryRowContext(context.Background(), query).Scan(&text) })
	return text
}

// Users runs a statement that returns ids, names and emails.
func (o *Other) Users(statement string) (users []User, err error) {
	rows, err := o.conn.QueryContext(context.Background(), statement)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // it is read to its end
	for user := (User{}); rows.Next(); users = append(users, user) {
		if err := rows.Scan(&user.ID, &user.Name, &user.Email); err != nil {
			return nil, err
		}
	}
	return users, rows.Err()
}

// insist runs a statement again for as long as the database is locked. SQLite waits longer and longer between its
// own attempts, so that busy writers can starve it; a fresh attempt starts with short waits.
func (o *Other) insist(statement string, run func() error) {
	o.t.Helper()
	for deadline := time.Now().Add(Patience); ; {
		err := run()
		if err == nil {
			return
		}
		if !isBusy(err) || time.Now().After(deadline) {
			o.t.Fatalf("%s: %v", statement, err)
		}
	}
}

// Close closes the database; otherwise it is closed at the end of the test.
func (o *Other) Close() { _, _ = o.conn.Close(), o.db.Close() }

// HoldWrites makes every write of others wait, and no read, until [Other.LetGo].
func (o *Other) HoldWrites() { o.t.Helper(); o.Do(holdWrites...) }

// Insert runs statements that store users with ids of their own. New users come behind the highest, which PostgreSQL has
// to be told.
func (o *Other) Insert(statements ...string) {
	o.t.Helper()
	o.Do(append(statements, afterInsert...)...)
}

// MustWait reports whether a write would wait for one of another program.
func (o *Other) MustWait() bool {
	var err error
	for _, statement := range tryToWrite {
		if err == nil {
			_, err = o.conn.ExecContext(context.Background(), statement)
		}
	}
	for _, statement := range hasTried {
		_, _ = o.conn.ExecContext(context.Background(), statement)
	}
	return err != nil
}

// LetGo lets the writes of others go on.
func (o *Other) LetGo() { o.t.Helper(); o.Do("COMMIT") }

// Fill puts n users into the table: User 1, user1@example.org and so on.
func (o *Other) Fill(n int) {
	o.t.Helper()
	o.HoldWrites()
	_, err := o.conn.ExecContext(context.Background(), fill, n)
	Must(o.t, err)
	o.LetGo()
}

// Empty deletes all users. Ids begin at 1 again.
func (o *Other) Empty() { o.t.Helper(); o.Do(empty...) }

// What tests are of that only SQLite has: for [NeedsFile].
const (
	Backups = "backups and restores, for which PostgreSQL has pg_dump"
	Files   = "the file, its directory, its rights and its disk"
	Locks   = "locks of the whole file, readers and starts included"
	AnyType = "columns that hold what is not of their type"
	Readme  = "the answers in README.md, which have SQLite's texts and ids"
)
