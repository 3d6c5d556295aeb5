package postgres

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
)

// Statements run READ COMMITTED and with this package's time limits, whatever the defaults of the role, the database or
// the server are. A session that belongs to this process alone is set up once. Behind a pooler, the next statement may
// run in another session: if the defaults are not PostgreSQL's own, each read is a transaction that sets them itself.
//
// READ COMMITTED matters even to a read that is a single statement: with REPEATABLE READ it keeps the snapshot that it
// took before it waited for the table's lock, and sees an empty table if TRUNCATE or ALTER TABLE … TYPE commits
// meanwhile.

// What prepareSession notes about a connection: a pooler stands between this process and the server, or sessions have
// defaults other than PostgreSQL's own.
const (
	pooled      = "pooled"
	oddDefaults = "odd defaults"
)

// prepareSession finds out whether a pooler stands between this process and the server, and sets up a session that
// belongs to this process alone. A pooler reports a process number of its own, which serves to cancel statements, and
// not that of the session's process.
func prepareSession(ctx context.Context, conn *pgx.Conn) error {
	var process uint32
	var defaults bool
	err := conn.QueryRow(ctx, askSession, pgx.QueryExecModeExec).Scan(&process, &defaults)
	notes := conn.PgConn().CustomData()
	notes[pooled], notes[oddDefaults] = process != conn.PgConn().PID(), !defaults
	if err != nil || (connection{Conn: conn}).isPooled() {
		return err
	}
	given := slices.Collect(maps.Keys(conn.Config().RuntimeParams))
	_, err = conn.Exec(ctx, setSession, pgx.QueryExecModeExec, given)
	return err
}

func (c connection) isPooled() bool { return c.isNoted(pooled) }

// needsBegin reports whether a single statement must say how it runs.
func (c connection) needsBegin() bool { return c.isPooled() && c.isNoted(oddDefaults) }

func (c connection) isNoted(name string) bool {
	noted, _ := c.PgConn().CustomData()[name].(bool)
	return noted
}

// inTransaction runs a read in a transaction that begins with the given statements, which may wait for a lock.
func (c connection) inTransaction(ctx context.Context, begin string, read func() error) error {
	defer func() { _ = c.simple(ctx, rollBack) }() // it only reads; if this fails, the connection is discarded
	limited, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	err := c.begin(limited, begin)
	switch {
	case ctx.Err() == nil && limited.Err() != nil:
		_ = c.Close(ctx) // the request to cancel the statements may arrive after their end
		return errSlow
	case err != nil:
		return err
	}
	return read()
}

func (c connection) begin(ctx context.Context, begin string) error {
	if c.after != nil {
		return c.after.begin(ctx, c, begin)
	}
	return c.simple(ctx, begin)
}

// timeouts returns the statements that protect a transaction from the timeouts of the role, the database or the server.
func (c connection) timeouts() string {
	if c.needsBegin() {
		return noTimeouts
	}
	return ""
}
