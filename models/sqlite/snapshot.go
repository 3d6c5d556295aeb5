package sqlite

import (
	"context"
	"iter"

	"users-api/models"
)

// snapshot returns the users that a query asks for as one read transaction sees them. They are copied into a spool as
// fast as they can be read, while they are taken out of it: a slow reader would otherwise hold the transaction open,
// and with it keep the -wal file from being written back, for as long as it likes.
func (r *reader) snapshot(ctx context.Context, query models.Query) iter.Seq2[models.User, error] {
	return func(yield func(models.User, error) bool) {
		copied, copying := newSpool(r.spools), make(chan struct{})
		ctx, cancel := context.WithCancel(ctx)
		go func() {
			defer close(copying)
			copied.end(r.copyTo(ctx, copied, query))
		}()
		defer copied.close()
		defer func() { cancel(); <-copying }()
		for row, err := range copied.records() {
			user := models.User{ID: row.number, CreatedAt: row.texts[2]}
			user.Name, user.Email = row.texts[0], row.texts[1]
			if !yield(user, err) {
				return
			}
		}
	}
}

// copyTo copies the users that a query asks for, in one read transaction. It looks at every user, as a search does.
func (r *reader) copyTo(ctx context.Context, to *spool, query models.Query) error {
	return r.search(ctx, func(conn connection) error {
		if _, err := conn.exec("BEGIN DEFERRED"); err != nil {
			return err
		}
		defer func() { _, _ = conn.exec("ROLLBACK") }() // it only reads
		on := func(read func(connection) error) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return read(conn)
		}
		for user, err := range r.queries.read(query, on) {
			if err != nil {
				return err
			}
			if err := to.add(record{user.ID, [3]string{user.Name, user.Email, user.CreatedAt}}); err != nil {
				return err
			}
		}
		return nil
	})
}
