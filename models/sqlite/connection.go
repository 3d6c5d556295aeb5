package sqlite

import (
	"context"
	"errors"
	"strings"

	"zombiezen.com/go/sqlite"
)

// connection is one connection to the database file, for one goroutine at a time. GORM's driver compiles a statement
// each time it is run, which takes longer than reading a user does. This library compiles it once, and calls the very
// SQLite that the driver calls.
type connection struct {
	sqlite *sqlite.Conn
	known  *known
	ended  *chan struct{} // when it is closed, the statement that runs is interrupted: see until
}

// openConnection opens the database of a URL and runs pragmas on it, each like "synchronous(FULL)".
func openConnection(source string, pragmas ...string) (connection, error) {
	conn, err := sqlite.OpenConn(source, sqlite.OpenReadWrite, sqlite.OpenCreate, sqlite.OpenURI)
	if err != nil {
		return connection{}, failure(err)
	}
	conn.SetBusyTimeout(0) // the library would wait for a lock without an end
	c := connection{conn, &known{}, new(chan struct{})}
	c.allowInterrupt()
	for _, pragma := range pragmas {
		if err == nil {
			err = c.script("PRAGMA " + pragma)
		}
	}
	if err != nil {
		c.close()
	}
	return c, err
}

// close closes the connection. SQLite refuses that only while a statement is compiled that the library does not keep,
// and there is none.
func (c connection) close() { _ = c.sqlite.Close() }

// until calls run, and interrupts its statement when the context ends; the error is the context's then. The library's own
// SetInterrupt starts a goroutine and waits for it, which is too slow for each read: here that happens after an interrupt
// only, and a read pays for [context.AfterFunc].
func (c connection) until(ctx context.Context, run func() error) error {
	ended := *c.ended
	stop := context.AfterFunc(ctx, func() { close(ended) })
	err := run()
	if stop() {
		return err
	}
	<-ended
	c.allowInterrupt()
	if primaryCode(err) == codeInterrupt {
		return ctx.Err()
	}
	return err
}

// allowInterrupt makes the connection one that can be interrupted once.
func (c connection) allowInterrupt() {
	*c.ended = make(chan struct{})
	c.sqlite.SetInterrupt(*c.ended)
}

// script runs statements that have no arguments, and keeps none of them compiled.
func (c connection) script(statements string) error {
	for statements != "" {
		statement, rest, err := c.sqlite.PrepareTransient(statements)
		if err != nil {
			return failure(err)
		}
		err = each(statement, func(row) error { return nil })
		_ = statement.Finalize() // it would only repeat the error
		if err != nil {
			return err
		}
		statements = strings.TrimSpace(statements[len(statements)-rest:])
	}
	return nil
}

// outcome is what a statement did: the rowid of the row that it inserted, and how many rows it changed.
type outcome struct{ rowid, rows int64 }

// exec runs a statement that returns no rows.
func (c connection) exec(statement string, arguments ...any) (done outcome, err error) {
	if err = c.query(nil, statement, arguments...); err == nil {
		done = outcome{c.sqlite.LastInsertRowID(), int64(c.sqlite.Changes())}
	}
	return done, err
}

// reading runs read in a transaction of its own, on a table that can be served. The context ends its statements, but not
// the end of the transaction.
func (c connection) reading(ctx context.Context, read func(connection) error) error {
	if _, err := c.exec("BEGIN DEFERRED"); err != nil {
		return err
	}
	defer func() { _, _ = c.exec("ROLLBACK") }() // it only reads
	if _, err := c.users(); err != nil {
		return err
	}
	return c.until(ctx, func() error { return read(c) })
}

// errEnough ends a query before its last row.
var errEnough = errors.New("enough rows")

// query runs a statement, whose arguments are strings and int64s, and calls add with each row that it returns; errEnough
// ends the query.
func (c connection) query(add func(row) error, text string, arguments ...any) error {
	statement, err := c.sqlite.Prepare(text)
	if err != nil {
		return failure(err)
	}
	defer release(statement)
	for i, argument := range arguments {
		if text, isText := argument.(string); isText {
			statement.BindText(i+1, text)
		} else {
			statement.BindInt64(i+1, argument.(int64))
		}
	}
	return each(statement, add)
}

// release ends the run of a statement, and with it the transaction where that was its own, and frees its arguments.
func release(statement *sqlite.Stmt) { _ = errors.Join(statement.Reset(), statement.ClearBindings()) }

// each runs a statement and calls add with each row; errEnough ends it.
func each(statement *sqlite.Stmt, add func(row) error) error {
	for {
		found, err := statement.Step()
		if err != nil || !found {
			return failure(err)
		}
		if err := add(row{statement}); err != nil {
			if err == errEnough { //nolint:errorlint // it is never wrapped
				err = nil
			}
			return err
		}
	}
}

// number runs a statement that returns one whole number, and reports whether it returned one: NULL is none, and so is
// no row.
func (c connection) number(statement string, arguments ...any) (number int64, found bool, err error) {
	err = c.query(func(r row) error {
		found = r.kind(0) == sqlite.TypeInteger
		number = r.number(0)
		return nil
	}, statement, arguments...)
	return number, found, err
}

// dataVersion returns a number that changes when another connection than this one has committed.
func (c connection) dataVersion() (int64, error) {
	version, _, err := c.number("PRAGMA data_version")
	return version, err
}

// setting returns what a pragma is set to. It is not kept compiled: SQLite looks when it compiles it.
func (c connection) setting(pragma string) (value string, err error) {
	statement, _, err := c.sqlite.PrepareTransient("PRAGMA " + pragma)
	if err != nil {
		return "", failure(err)
	}
	defer statement.Finalize() //nolint:errcheck // it would only repeat the error
	err = each(statement, func(r row) error {
		value = r.text(0)
		return nil
	})
	return value, err
}
