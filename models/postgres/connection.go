package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"users-api/models"
	"users-api/models/imports"
)

// connection is one connection to the server.
//
// A statement is prepared once on each connection, unless a pooler stands in between: PgBouncer before 1.21 hands each
// transaction to another session of the server, which does not know the statement. Then only the description of the
// statement is kept, and its text is sent each time. Reading a user by id takes 37 µs prepared, and 76 µs this way.
type connection struct {
	*pgx.Conn
	fields    models.Fields  // of the users that are read and stored on it
	emails    imports.Emails // what the indexes of the table do for them
	recording bool           // changes are recorded
	after     *catchUp       // what a standby must have replayed first; nil on the primary
	indexed   bool           // there is an index for searches
	replans   bool           // a statement is planned for its values, and not kept prepared
}

func (c connection) mode() pgx.QueryExecMode {
	if c.replans || c.isPooled() {
		return pgx.QueryExecModeCacheDescribe
	}
	return pgx.QueryExecModeCacheStatement
}

func (c connection) query(ctx context.Context, row func(pgx.Rows) error, statement string, arguments ...any) error {
	rows, err := c.Query(ctx, statement, append([]any{c.mode()}, arguments...)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (c connection) exec(ctx context.Context, statement string, arguments ...any) (rows int64, err error) {
	var tag pgconn.CommandTag
	tag, err = c.Exec(ctx, statement, append([]any{c.mode()}, arguments...)...)
	return tag.RowsAffected(), err
}

// value runs a statement that returns one value. Without a row, the value stays as it is.
func (c connection) value(ctx context.Context, into any, statement string, arguments ...any) error {
	return c.query(ctx, func(rows pgx.Rows) error { return rows.Scan(into) }, statement, arguments...)
}

func (c connection) ids(ctx context.Context, statement string, arguments ...any) (ids []int64, err error) {
	err = c.query(ctx, func(rows pgx.Rows) error {
		var id int64
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	}, statement, arguments...)
	return ids, err
}

// simple runs statements without values or results.
func (c connection) simple(ctx context.Context, statements string) error {
	_, err := c.Exec(ctx, statements, pgx.QueryExecModeSimpleProtocol)
	return err
}

// inSavepoint runs statements of a transaction so that they leave no trace when they fail.
func (c connection) inSavepoint(ctx context.Context, run func(context.Context) error) error {
	if err := c.simple(ctx, savepoint); err != nil {
		return err
	}
	err, end := run(ctx), release
	if err != nil {
		end = rollBackTo
	}
	if failed := c.simple(ctx, end); failed != nil && (err == nil || isOfRow(err)) {
		err = failed
	}
	return err
}
