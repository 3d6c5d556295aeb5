package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
)

// connection is one connection to the database file. It asks the driver itself: through database/sql a statement
// takes 2 µs longer, and each row as long again as SQLite takes to read it.
//
// Contexts are not passed on: the driver would start a goroutine for each statement, and stop none that waits for a
// lock or reads rows.
type connection struct{ conn *sql.Conn }

// takeConnection takes a connection out of the pool, until it is closed.
func takeConnection(ctx context.Context, pool *sql.DB) (connection, error) {
	conn, err := pool.Conn(ctx)
	return connection{conn}, err
}

// close gives the connection back to the pool.
func (c connection) close() error { return c.conn.Close() }

// outcome is what a statement did: the rowid of the row that it inserted, and how many rows it changed.
type outcome struct{ rowid, rows int64 }

// exec runs statements that return no rows.
func (c connection) exec(statements string, arguments ...any) (done outcome, err error) {
	err = c.conn.Raw(func(conn any) error {
		result, err := conn.(driver.ExecerContext).ExecContext(context.Background(), statements, bound(arguments))
		if err != nil {
			return err
		}
		if done.rowid, err = result.LastInsertId(); err != nil {
			return err
		}
		done.rows, err = result.RowsAffected()
		return err
	})
	return done, err
}

// errEnough ends a query before its last row.
var errEnough = errors.New("enough rows")

// query runs a statement and calls row with the values of each row. They are valid until it returns; errEnough ends the
// query.
func (c connection) query(columns int, row func([]driver.Value) error, statement string, arguments ...any) error {
	return c.conn.Raw(func(conn any) error {
		rows, err := conn.(driver.QueryerContext).QueryContext(context.Background(), statement, bound(arguments))
		if err != nil {
			return err
		}
		values := make([]driver.Value, columns)
		for err == nil {
			if err = rows.Next(values); err == nil {
				err = row(values)
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, errEnough) {
			err = nil
		}
		return errors.Join(err, rows.Close())
	})
}

// number runs a statement that returns one whole number, and reports whether it returned one: NULL is none, and so is
// no row.
func (c connection) number(statement string, arguments ...any) (number int64, found bool, err error) {
	err = c.query(1, func(values []driver.Value) error {
		number, found = values[0].(int64)
		return nil
	}, statement, arguments...)
	return number, found, err
}

// dataVersion returns a number that changes when another connection than this one has committed.
func (c connection) dataVersion() (int64, error) {
	version, _, err := c.number("PRAGMA data_version")
	return version, err
}

// bound returns arguments as the driver takes them.
func bound(arguments []any) []driver.NamedValue {
	if len(arguments) == 0 {
		return nil
	}
	values := make([]driver.NamedValue, len(arguments))
	for i, argument := range arguments {
		values[i] = driver.NamedValue{Ordinal: i + 1, Value: argument}
	}
	return values
}
