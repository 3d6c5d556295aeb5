package postgres

import (
	"cmp"
	"context"
	"errors"
	"log/slog"

	"github.com/jackc/pgx/v5"
)

// errOtherBuild: another process builds an index.
var errOtherBuild = errors.New("nothing was changed, because another process builds an index: try again when it has ended")

// inTurn keeps other processes from building an index at the same time. A build waits for every snapshot that is older
// than it: so those that want their turn ask again and again, and the transaction that has it does nothing else, and
// asked by the simple protocol, which leaves no portal open.
func (d *database) inTurn(ctx context.Context, build func() error) error {
	done, err := retry(ctx, func() (mine bool, err error) {
		err = d.onOne(ctx, func(conn connection) error {
			return conn.inTransaction(ctx, beginTurn+conn.timeouts(), func() error {
				err := conn.QueryRow(ctx, tryTurn, pgx.QueryExecModeSimpleProtocol).Scan(&mine)
				if err != nil || !mine {
					return err
				}
				return build()
			})
		})
		return mine, err
	})
	if err == nil && !done {
		err = errOtherBuild
	}
	return err
}

// index is an index of users that PostgreSQL builds beside writes: its name, what creates it, and what asks for the one
// there is, and whether it is valid.
type index struct{ name, create, find string }

// buildTries is how often an index is built, if emails that are the same are stored and deleted meanwhile, or if
// PostgreSQL ends the build because of a deadlock with another transaction.
const buildTries = 3

// build builds an index, unless it is there, after expect finds nothing that keeps it from being built.
//
// No write waits for it: PostgreSQL builds the index beside them, which no transaction can do. So a build that is broken
// off leaves an index behind that is not valid. It is removed at once, or before the next build.
func (d *database) build(ctx context.Context, i index, expect func(context.Context) error, logger *slog.Logger) error {
	exists, err := d.removeUnfinished(ctx, i)
	if err != nil || exists {
		return err
	}
	for range buildTries {
		if err := expect(ctx); err != nil {
			return err
		}
		if err = d.onOne(ctx, func(conn connection) error { return conn.create(ctx, i) }); err == nil {
			return nil
		}
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*schemaTime)
		exists, failed := d.removeUnfinished(limited, i)
		cancel()
		if failed != nil {
			logger.Warn("the unfinished index "+i.name+" may be left: run the command again", "error", failed)
		}
		switch {
		case exists: // the server went on without this connection
			return nil
		case failed != nil, !isDuplicate(err) && class(sqlState(err)) != classRollback:
			return err
		}
	}
	return err
}

// errTimeouts: the time limits of the server would end the build, and behind a pooler nothing can lift them.
var errTimeouts = errors.New("a pooler stands before the PostgreSQL server, and the role, the database or the server has " +
	"a statement_timeout, a lock_timeout or another isolation by default: name the server itself in the URL for this command")

// create waits for transactions that use the table, for as long as they take.
func (c connection) create(ctx context.Context, i index) error {
	if c.needsBegin() {
		return errTimeouts
	}
	if !c.isPooled() {
		if err := c.simple(ctx, setNoTimeouts); err != nil {
			return err
		}
	}
	return c.simple(ctx, i.create)
}

// removeUnfinished removes an index that is not valid, unless it is being built, and reports whether there is a valid one.
func (d *database) removeUnfinished(ctx context.Context, i index) (exists bool, err error) {
	name := ""
	look := func(conn connection) error {
		name, exists, err = conn.find(ctx, i)
		return err
	}
	if err := d.onOne(ctx, look); err != nil || exists || name == "" {
		return exists, err
	}
	err = d.alone(ctx, func(conn connection) error {
		finishing := false
		if err := conn.value(ctx, &finishing, isFinishing); err != nil || finishing {
			return cmp.Or(err, errFinishing)
		}
		if err := look(conn); err != nil || exists || name == "" {
			return err
		}
		return conn.simple(ctx, "DROP INDEX "+name)
	})
	return exists, err
}

// errFinishing: another session is about to commit a change of the table.
var errFinishing = errors.New("a change of the table is being committed")

// find returns the name of an index, or "" if there is none, and whether it is valid.
func (c connection) find(ctx context.Context, i index) (name string, valid bool, err error) {
	err = c.query(ctx, func(rows pgx.Rows) error { return rows.Scan(&name, &valid) }, i.find)
	return name, valid, err
}
