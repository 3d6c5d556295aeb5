package sqlite

import (
	"context"
	"iter"

	"users-api/models"
	"users-api/models/spool"
)

// snapshot returns the users that a query asks for as one read transaction sees them. They are spooled: a transaction that
// a slow reader holds open would keep the -wal file from being written back.
func (r *reader) snapshot(ctx context.Context, query models.Query) iter.Seq2[models.User, error] {
	return r.spools.Users(ctx, func(ctx context.Context, to *spool.Spool) error { return r.copyTo(ctx, to, query) })
}

// copyTo copies the users that a query asks for, in one read transaction. It looks at every user, as a search does.
func (r *reader) copyTo(ctx context.Context, to *spool.Spool, query models.Query) error {
	return r.search(ctx, func(conn connection) error {
		for user, err := range r.queries.read(query, func(read func(connection) error) error { return read(conn) }) {
			if err != nil {
				return err
			}
			if err := to.AddUser(&user); err != nil {
				return err
			}
		}
		return nil
	})
}
