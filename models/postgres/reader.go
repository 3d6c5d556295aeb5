package postgres

import (
	"context"
	"iter"
	"runtime"

	"users-api/models"
)

// reader reads the users.
type reader struct {
	// run runs what reads on a connection: on any, as [database.on] does, or on that of a transaction.
	run     func(context.Context, use, func(context.Context, connection) error) error
	queries *queries
	pages   pageSize
	// searching is held by a query that looks at every user. Such queries get at most all cores but one, and a third of
	// the connections, so that all else goes on beside them.
	searching chan struct{}
}

func newReader(database *database, queries *queries) *reader {
	searches := max(1, min(cap(database.free)/3, runtime.GOMAXPROCS(0)-1))
	r := &reader{run: database.on, queries: queries, searching: make(chan struct{}, searches)}
	r.pages.set(mostUsers)
	return r
}

// on runs read on a connection, for a query.
func (r *reader) on(ctx context.Context, wanted use, read func(context.Context, connection) error) error {
	if wanted.limit == searchTime && r.searching != nil {
		select {
		case r.searching <- struct{}{}:
			defer func() { <-r.searching }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return r.run(ctx, wanted, read)
}

// get returns the user with an id.
func (r *reader) get(ctx context.Context, id int64) (user models.User, err error) {
	err = r.on(ctx, lookup, func(ctx context.Context, conn connection) (err error) {
		user, err = conn.one(ctx, r.queries.byID, id)
		return err
	})
	return user, err
}

// count returns how many users match a query. It looks at every user, unless an email is asked for.
func (r *reader) count(ctx context.Context, query models.Query) (n int64, err error) {
	wanted := search
	if query.Email != nil {
		wanted = lookup
	}
	values, possible := matching(query)
	if !possible {
		return 0, nil
	}
	err = r.on(ctx, wanted, func(ctx context.Context, conn connection) (err error) {
		n, _, err = conn.number(ctx, r.queries.selected[query.Shape()].count, values...)
		return err
	})
	return n, err
}

// users returns the users that a query asks for, page by page: each begins after the last id of the one before. Between
// two nothing is held but a page, however slowly they are taken.
func (r *reader) users(ctx context.Context, query models.Query) iter.Seq2[models.User, error] {
	if query.Snapshot {
		return r.snapshot(ctx, query)
	}
	return models.Pages(query, func(next models.Query) ([]models.User, bool, error) { return r.page(ctx, next) })
}
