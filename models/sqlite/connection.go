package sqlite

import (
	"context"
	"errors"
	"strings"

	"zombiezen.com/go/sqlite"
)

// connection is one connection to the database file, for one goroutine at a time. It is the only way in which this
// package accesses SQLite. GORM's driver compiles a statement each time it runs, which takes longer than reading a user;
// this library compiles it once, and calls the same SQLite code.
type connection struct {
	sqlite *sqlite.Conn
	known  *known
	ended  *chan struct{} // closing it interrupts the running statement: see until
}

// openConnection opens the database of a URL and runs pragmas on it, each like "synchronous(FULL)".
func openConnection(source string, pragmas ...string) (connection, error) {
	conn, err := sqlite.OpenConn(source, sqlite.OpenReadWrite, sqlite.OpenCreate, sqlite.OpenURI)
	if err != nil {
		return connection{}, failure(err)
	}
	conn.SetBusyTimeout(0) // the library would wait for a lock without limit
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

// close closes the connection. SQLite refuses to close only while there is a compiled statement that the library does
// not track, and there is none.
func (c connection) close() { _ = c.sqlite.Close() }

// until calls run, and interrupts its statement when the context ends; the error is then the context's. The library's
// own SetInterrupt starts a goroutine and waits for it, which is too slow for each read. Here that happens only after
// an interrupt, and a read costs only a [context.AfterFunc].
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

// allowInterrupt makes it possible to interrupt the connection once.
func (c connection) allowInterrupt() {
	*c.ended = make(chan struct{})
	c.sqlite.SetInterrupt(*c.ended)
}

// script runs statements without arguments, and does not keep them compiled.
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

// errEnough ends a query before its last row.
var errEnough = errors.New("enough rows")

// query runs a statement, whose arguments are strings, int64s and nil, and calls add with each row that it returns; errEnough
// ends the query.
func (c connection) query(add func(row) error, text string, arguments ...any) error {
	statement, err := c.sqlite.Prepare(text)
	if err != nil {
		return failure(err)
	}
	defer release(statement)
	for i, argument := range arguments {
		switch value := argument.(type) {
		case nil:
			statement.BindNull(i + 1)
		case string:
			statement.BindText(i+1, value)
		default:
			statement.BindInt64(i+1, value.(int64))
		}
	}
	return each(statement, add)
}

// release ends the run of a statement, with its own transaction if it has one, and frees its arguments.
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

// number runs a statement that returns one integer, and reports whether it returned one: NULL does not count, and
// neither does a result without rows.
func (c connection) number(statement string, arguments ...any) (number int64, found bool, err error) {
	err = c.query(func(r row) error {
		found = r.statement.ColumnType(0) == sqlite.TypeInteger
		number = r.number(0)
		return nil
	}, statement, arguments...)
	return number, found, err
}

// dataVersion returns a number that changes when a connection other than this one has committed.
func (c connection) dataVersion() (int64, error) {
	version, _, err := c.number("PRAGMA data_version")
	return version, err
}

// setting returns the value of a pragma. The statement is not kept compiled: SQLite reads the value when it compiles.
func (c connection) setting(pragma string) (value string, err error) {
	statement, _, err := c.sqlite.PrepareTransient("PRAGMA " + pragma)
	if err != nil {
		return "", failure(err)
	}
	defer statement.Finalize() //nolint:errcheck // it would only repeat the error
	err = each(statement, func(r row) error {
		value, _ = r.text(0)
		return nil
	})
	return value, err
}
