package sqlite

import (
	"context"

	"users-api/models"
	"users-api/models/spool"
)

// export calls send with the users that a query selects, as one read transaction sees them. They are spooled: if a slow
// reader held the transaction open, the -wal file could not be written back.
func (r *reader) export(ctx context.Context, query models.Query, send func(models.Export) error) error {
	return r.spools.Export(ctx, query, r.copyTo, send)
}

func (r *reader) copyTo(ctx context.Context, query models.Query, to *spool.Spool) error {
	return storageError(r.search(ctx, query, func(conn *connection) (err error) {
		if to.Cursor, err = conn.cursor(); err != nil {
			return err
		}
		if query.Count {
			if to.Total, err = conn.count(query); err != nil {
				return err
			}
		}
		for user, err := range conn.users(query) {
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
