package dbfile

import (
	"context"
	"errors"
	"strings"

	"zombiezen.com/go/sqlite"
)

// Connection is one connection to a database file, for one goroutine at a time. It compiles a statement when it first
// runs it, and keeps it compiled if it is one of the first mostKept.
type Connection struct {
	sqlite *sqlite.Conn
	kept   map[string]*compiled // by their texts
	ended  chan struct{}        // closing it interrupts the running statement: see Until
}

// mostKept is how many statements a connection keeps compiled. The service runs a few dozen, unless a client tries what it
// can: with 32 added fields there are 2^34 statements that change a user. One takes some 10 KB.
const mostKept = 256

// compiled is a compiled statement. One that is kept is used again when it does not run.
type compiled struct {
	*sqlite.Stmt
	kept, runs bool
}

// Open opens the database file at path and runs pragmas on the connection, each like "synchronous(FULL)"
// (sqlite.org/pragma.html). Without the pragma busy_timeout, the connection does not wait for a lock.
func Open(path string, mode Mode, pragmas ...string) (*Connection, error) {
	conn, err := sqlite.OpenConn(fileURL(path, mode), sqlite.OpenReadWrite, sqlite.OpenCreate, sqlite.OpenURI)
	if err != nil {
		return nil, failure(err)
	}
	conn.SetBusyTimeout(0) // the library would wait for a lock without limit
	c := &Connection{sqlite: conn, kept: map[string]*compiled{}}
	c.allowInterrupt()
	for _, pragma := range pragmas {
		if err := c.Script("PRAGMA " + pragma); err != nil {
			c.Close()
			return nil, err
		}
	}
	return c, nil
}

// Close closes the connection. SQLite refuses to close only while there is a compiled statement that the library does
// not track, and there is none: it tracks those that are kept, and the others end with their run.
func (c *Connection) Close() { _ = c.sqlite.Close() }

// Until calls run, and interrupts its statement when the context ends; the error is then the context's. The library's
// own SetInterrupt starts a goroutine and waits for it, which is too slow for each read. Here that happens only after
// an interrupt, and a read costs only a [context.AfterFunc].
func (c *Connection) Until(ctx context.Context, run func() error) error {
	if err := ctx.Err(); err != nil {
		return err // AfterFunc would notice in a goroutine, perhaps after run
	}
	ended := c.ended
	stop := context.AfterFunc(ctx, func() { close(ended) })
	err := run()
	if stop() {
		return err
	}
	<-ended
	c.allowInterrupt()
	if PrimaryCode(err) == CodeInterrupt {
		return ctx.Err()
	}
	return err
}

// allowInterrupt makes it possible to interrupt the connection once.
func (c *Connection) allowInterrupt() {
	c.ended = make(chan struct{})
	c.sqlite.SetInterrupt(c.ended)
}

// Script runs statements without arguments, and does not keep them compiled.
func (c *Connection) Script(statements string) error {
	for statements != "" {
		statement, rest, err := c.sqlite.PrepareTransient(statements)
		if err != nil {
			return failure(err)
		}
		err = each(statement, func(Row) error { return nil })
		_ = statement.Finalize() // it would only repeat the error
		if err != nil {
			return err
		}
		statements = strings.TrimSpace(statements[len(statements)-rest:])
	}
	return nil
}

// Compile compiles a statement without running it, and returns SQLite's error.
func (c *Connection) Compile(text string) error {
	statement, _, err := c.sqlite.PrepareTransient(text)
	if err != nil {
		return failure(err)
	}
	_ = statement.Finalize() // it has not run
	return nil
}

// Outcome is what a statement did: the rowid of the row that it inserted, and how many rows it changed.
type Outcome struct{ RowID, Rows int64 }

// Exec runs a statement that returns no rows. Its arguments are those of [Connection.Query].
func (c *Connection) Exec(text string, arguments ...any) (done Outcome, err error) {
	if err = c.Query(nil, text, arguments...); err == nil {
		done = Outcome{c.sqlite.LastInsertRowID(), int64(c.sqlite.Changes())}
	}
	return done, err
}

// ErrEnough ends a query before its last row.
var ErrEnough = errors.New("enough rows")

// Query runs a statement, whose arguments are strings, int64s and nil, and calls add with each row that it returns. An
// error of add ends the query and is returned, except for [ErrEnough].
func (c *Connection) Query(add func(Row) error, text string, arguments ...any) error {
	statement, err := c.compile(text)
	if err != nil {
		return failure(err)
	}
	statement.runs = true
	defer statement.release()
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
	return each(statement.Stmt, add)
}

// compile returns a statement that does not run: the rows of a query may be used for the same query again.
func (c *Connection) compile(text string) (*compiled, error) {
	kept, known := c.kept[text]
	if known && !kept.runs {
		return kept, nil
	}
	if known || len(c.kept) == mostKept {
		statement, _, err := c.sqlite.PrepareTransient(text)
		return &compiled{Stmt: statement}, err
	}
	statement, err := c.sqlite.Prepare(text)
	if err != nil {
		return nil, err
	}
	c.kept[text] = &compiled{Stmt: statement, kept: true}
	return c.kept[text], nil
}

// release ends the run of a statement, with its own transaction if it has one, and frees its arguments. The errors would
// only repeat that of the run.
func (s *compiled) release() {
	if !s.kept {
		_ = s.Finalize()
		return
	}
	s.runs = false
	_ = errors.Join(s.Reset(), s.ClearBindings())
}

// each runs a statement and calls add with each row.
func each(statement *sqlite.Stmt, add func(Row) error) error {
	for {
		found, err := statement.Step()
		if err != nil || !found {
			return failure(err)
		}
		if err := add(Row{statement}); err != nil {
			if err == ErrEnough { //nolint:errorlint // it is never wrapped
				err = nil
			}
			return err
		}
	}
}

// Number runs a statement that returns one integer, and reports whether it returned one: NULL does not count, and
// neither does a result without rows.
func (c *Connection) Number(text string, arguments ...any) (number int64, found bool, err error) {
	err = c.Query(func(r Row) error {
		found = r.statement.ColumnType(0) == sqlite.TypeInteger
		number = r.Number(0)
		return nil
	}, text, arguments...)
	return number, found, err
}

// DataVersion returns a number that changes when a connection other than this one has committed
// (sqlite.org/pragma.html#pragma_data_version).
func (c *Connection) DataVersion() (int64, error) {
	version, _, err := c.Number("PRAGMA data_version")
	return version, err
}

// Setting returns the value of a pragma. The statement is not kept compiled: SQLite reads the value when it compiles.
func (c *Connection) Setting(pragma string) (value string, err error) {
	statement, _, err := c.sqlite.PrepareTransient("PRAGMA " + pragma)
	if err != nil {
		return "", failure(err)
	}
	defer statement.Finalize() //nolint:errcheck // it would only repeat the error
	err = each(statement, func(r Row) error {
		value, _ = r.Text(0)
		return nil
	})
	return value, err
}

// InTransaction reports whether a transaction is open. Some errors end it (sqlite.org/lang_transaction.html).
func (c *Connection) InTransaction() bool { return !c.sqlite.AutocommitEnabled() }
