package postgres

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"users-api/models"
	"users-api/models/spool"
)

// newSpools returns the area of spools. They are where the system keeps temporary files: DATA_DIR belongs to the other
// engine.
func newSpools(fields models.Fields) *spool.Area {
	return spool.NewArea(filepath.Join(os.TempDir(), "users-api-spool-"), fields)
}

// Export calls send with the users that a query selects, as one transaction sees them. They are spooled: if a slow
// reader held the transaction open, PostgreSQL could not clear away what was deleted and changed.
func (r *reader) Export(ctx context.Context, query models.Query, send func(models.Export) error) error {
	return r.spools.Export(ctx, query, r.copyTo, send)
}

// copyTo copies the users that a query selects, in one transaction.
func (r *reader) copyTo(ctx context.Context, query models.Query, to *spool.Spool) error {
	return explainSpool(r.inSnapshot(ctx, export, func(ctx context.Context, conn connection, within *reader) (err error) {
		to.Begin(conn.after != nil) // a standby may break off, and then the primary begins again
		feed, err := conn.feed(ctx)
		if err != nil {
			return err
		}
		to.Cursor = feed.cursor(feed.last)
		if query.Count {
			if to.Total, err = within.Count(ctx, query); err != nil {
				return err
			}
		}
		for user, err := range models.Each(within.Select(ctx, query)) {
			if err != nil {
				return err
			}
			if err := to.AddUser(&user); err != nil {
				return err
			}
		}
		return nil
	}))
}

// inSnapshot calls read in a transaction that sees the users at one moment, with a reader that reads in it. It ends a
// read that brings no page for as long as an ordinary read may take.
//
// The transaction locks the table before it takes its snapshot. TRUNCATE and ALTER TABLE … TYPE are not MVCC-safe: a
// snapshot that is older than their commit sees an empty table, and a statement that waits for a lock has already taken
// its snapshot.
func (r *reader) inSnapshot(ctx context.Context, wanted use, read func(context.Context, connection, *reader) error) error {
	return r.somewhere(ctx, wanted, func(ctx context.Context, wanted use, server *database) error {
		limited, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		stall := time.AfterFunc(answerTime, func() { cancel(errSlow) })
		defer stall.Stop()
		err := server.on(limited, wanted, func(ctx context.Context, conn connection) error {
			return conn.inTransaction(ctx, conn.beginSnapshot(), func() error { return read(ctx, conn, r.within(conn, stall)) })
		})
		if err != nil && ctx.Err() == nil && limited.Err() != nil {
			return errSlow
		}
		return err
	})
}

func (c connection) beginSnapshot() string {
	return beginSnapshot + c.timeouts() + lockTable + keepPath
}

// within returns a reader that reads on one connection. Each page that is read resets the timer of a stall; a read that
// looks at every user has the time of the whole snapshot.
func (r *reader) within(conn connection, stall *time.Timer) *reader {
	inside := &reader{queries: r.queries, pages: r.pages}
	inside.on = func(ctx context.Context, wanted use, read func(context.Context, connection) error) error {
		switch {
		case stall != nil && wanted.searches:
			stall.Stop()
		case stall != nil:
			defer stall.Reset(answerTime)
		}
		return read(ctx, conn)
	}
	return inside
}

// explainSpool adds what to do to an error of a spool: its directory is the system's, and an image may have none.
func explainSpool(err error) error {
	failed, ok := errors.AsType[*models.StorageError](err)
	if !ok || failed.Code != "spool" {
		return err
	}
	return &models.StorageError{
		Text: failed.Text + ": set TMPDIR to a directory that the service can write", Code: failed.Code, Meaning: failed.Meaning,
	}
}
