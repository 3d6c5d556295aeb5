package postgres

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"

	"users-api/models"
	"users-api/models/spool"
)

// spools is how the names of spools begin. They lie where the system keeps temporary files: DATA_DIR is the other
// engine's.
func spools() string { return filepath.Join(os.TempDir(), "users-api-spool-") }

// snapshot returns the users that a query asks for as one transaction sees them. They are spooled: a transaction that a
// slow reader holds open would keep PostgreSQL from clearing away what was deleted and changed.
func (r *reader) snapshot(ctx context.Context, query models.Query) iter.Seq2[models.User, error] {
	query.Snapshot = false
	return spool.Users(ctx, spools(), func(ctx context.Context, to *spool.Spool) error {
		return r.inSnapshot(ctx, export, func(ctx context.Context, _ connection, within *reader) error {
			for user, err := range within.users(ctx, query) {
				if err != nil {
					return err
				}
				if err := to.AddUser(&user); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// inSnapshot calls read in a transaction that sees the users at one moment, with a reader that reads in it.
func (r *reader) inSnapshot(ctx context.Context, wanted use, read func(context.Context, connection, *reader) error) error {
	return r.on(ctx, wanted, func(ctx context.Context, conn connection) error {
		tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback(ctx) }() // it only reads; where it fails, the connection is thrown away
		return read(ctx, conn, r.within(conn))
	})
}

// within returns a reader that reads on one connection.
func (r *reader) within(conn connection) *reader {
	inside := &reader{queries: r.queries}
	inside.run = func(ctx context.Context, _ use, read func(context.Context, connection) error) error {
		return read(ctx, conn)
	}
	inside.pages.set(mostUsers)
	return inside
}

// explainSpool returns an error of a spool with what to do: its directory is the system's, and an image may have none.
func explainSpool(err error) error {
	failed, ok := errors.AsType[*models.StorageError](err)
	if !ok || failed.Code != "spool" {
		return err
	}
	return &models.StorageError{
		Text: failed.Text + ": set TMPDIR to a directory that the service can write", Code: failed.Code, Meaning: failed.Meaning,
	}
}
