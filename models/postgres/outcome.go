package postgres

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"users-api/models"
)

// unknownError is the error of a write that may have been stored.
type unknownError struct{ error }

func (e unknownError) Unwrap() error { return e.error }

func isUnknown(err error) bool {
	_, unknown := errors.AsType[unknownError](err)
	return unknown
}

// errUnconfirmed: the server no longer waits for its synchronous standby. The commit is in its log, and perhaps nowhere
// else.
var errUnconfirmed = errors.New("no standby has confirmed the commit")

// outcome returns the error of what was sent to commit a write: a COMMIT, or a statement outside of a transaction. Only
// an ERROR of the server says for certain that nothing was stored. A cancel or a shutdown (class 57) that arrives
// during the commit takes effect after it, with the same message as before it; a pooler that has lost the server says
// so in class 08, and any other error comes from a broken connection. [pgconn.SafeToRetry] does not help: it is true
// for "conn closed", which a second read from a broken connection returns.
func (c connection) outcome(err error) error {
	if c.takeUnconfirmed() {
		return unknownError{errUnconfirmed}
	}
	return outcome(err)
}

func outcome(err error) error {
	switch {
	case err == nil, isRefusedByServer(err), errors.Is(err, models.ErrNotFound), errors.Is(err, pgx.ErrTxCommitRollback):
		return err
	}
	return unknownError{err}
}

// isRefusedByServer reports whether the server has certainly refused a statement or a COMMIT.
func isRefusedByServer(err error) bool {
	failed, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || failed.SeverityUnlocalized != "ERROR" {
		return false
	}
	return class(failed.Code) != classConnection && class(failed.Code) != classIntervention
}

// ignored returns [models.ErrIgnored] for an error that [whole] has caused, and other errors as they are.
func ignored(err error) error {
	failed, ok := errors.AsType[*pgconn.PgError](err)
	if ok && failed.Code == codeInvalidText && strings.Contains(failed.Message, ignoredMark) {
		return models.ErrIgnored
	}
	return err
}

// isOfRow reports whether rows are to blame for an error, and not the server, a lock, or a missing right.
func isOfRow(err error) bool {
	switch sqlState(err) {
	case "":
		return errors.Is(err, models.ErrIgnored)
	case codeNoRight, codeUnsupported, codeNoStatement:
		return false
	}
	return class(sqlState(err)) != classTransaction && isRefusal(storageError(err))
}

// isRefusal reports whether the server refused what a statement asked for. It has then stored nothing, and a single row
// may be to blame.
func isRefusal(err error) bool {
	failed, ok := errors.AsType[*models.StorageError](err)
	if !ok || failed.Code == codeReadOnly || failed.Code == codeUnserved {
		return false
	}
	switch class(failed.Code) {
	case "":
		return errors.Is(err, models.ErrIgnored)
	case classConnection, classAccess, classResources, classIntervention, classSystem, classInternal, classRollback, classLocks:
		return false
	}
	return true
}

// unconfirmed marks a connection on which the server has reported that no standby confirmed a commit.
const unconfirmed = "unconfirmed"

// noticeUnconfirmed marks a connection. The message may be in any language, but the name of the function never changes.
func noticeUnconfirmed(conn *pgconn.PgConn, notice *pgconn.Notice) {
	if notice.Routine == "SyncRepWaitForLSN" {
		conn.CustomData()[unconfirmed] = true
	}
}

func (c connection) takeUnconfirmed() bool {
	_, marked := c.PgConn().CustomData()[unconfirmed]
	delete(c.PgConn().CustomData(), unconfirmed)
	return marked
}

// lockTime is how long a statement waits for a lock that another program holds. It ends before the time limit of the
// statement, because this end is certain: nothing was stored.
const lockTime = "3500ms"

// startTime is how soon a statement that commits by itself must be sent, so that it is not cancelled while it waits for
// a lock.
const startTime = 200 * time.Millisecond

// transaction runs statements in a transaction. Until its COMMIT is sent, nothing is stored, whatever happens.
func (c connection) transaction(ctx context.Context, run func() error) error {
	tx, err := c.BeginTx(ctx, pgx.TxOptions{BeginQuery: beginWrite})
	if err != nil {
		return err
	}
	if err := run(); err != nil {
		_ = tx.Rollback(ctx) // if this fails, the connection is discarded, and the transaction with it
		return err
	}
	if err := ctx.Err(); err != nil {
		_ = tx.Rollback(ctx) // likewise
		return err
	}
	return c.outcome(tx.Commit(ctx))
}

// commit runs one statement that writes, and commits it: see [committing].
func (d *database) commit(ctx context.Context, run func(context.Context, connection) error) error {
	return d.counted(d.on(ctx, write, committing(run)))
}

// committing returns a function that runs one statement so that it commits by itself, which saves two round trips. The
// statement runs in a transaction behind a pooler, for its settings, and after a wait for a connection, because a
// transaction that is cancelled before its COMMIT is certainly not stored.
func committing(run func(context.Context, connection) error) func(context.Context, connection) error {
	return func(ctx context.Context, conn connection) error {
		deadline, _ := ctx.Deadline()
		if conn.isPooled() || time.Until(deadline) < answerTime-startTime {
			return conn.transaction(ctx, func() error { return run(ctx, conn) })
		}
		return conn.outcome(run(ctx, conn))
	}
}

// counted counts a commit that has not failed.
func (d *database) counted(err error) error {
	if err == nil {
		d.commits.Count(1)
	}
	return err
}
