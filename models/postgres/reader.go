package postgres

import (
	"context"
	"iter"
	"time"

	"users-api/models"
	"users-api/models/spool"
	"users-api/models/statements"
)

type reader struct {
	database *database
	// on runs a read on a connection: on any, or on that of a transaction.
	on       func(context.Context, use, func(context.Context, connection) error) error
	queries  *queries
	pages    *pageSize
	spools   *spool.Area
	standbys *standbys // nil without any
}

func newReader(database *database, queries *queries) *reader {
	r := &reader{database: database, queries: queries, pages: newPageSize(), spools: newSpools(queries.fields)}
	r.on = r.onAny
	return r
}

// errSlow: a read took too long, for example because another program has locked the table, and was ended.
var errSlow = &models.StorageError{
	Text: "the PostgreSQL server did not answer in time", Code: codeCancelled, Meaning: "too late",
}

// onAny runs a read on any connection. A search may take long, so it first waits for the table's lock for as long as
// any other read, and no longer.
func (r *reader) onAny(ctx context.Context, wanted use, read func(context.Context, connection) error) error {
	return r.somewhere(ctx, wanted, func(ctx context.Context, wanted use, server *database) error {
		return server.on(ctx, wanted, func(ctx context.Context, conn connection) error {
			begin := beginRead + conn.timeouts()
			switch {
			case wanted.after != nil:
				begin = conn.beginSnapshot()
			case wanted.searches:
				begin += lockTable
			case !conn.needsBegin():
				return read(ctx, conn) // the session is READ COMMITTED
			}
			return conn.inTransaction(ctx, begin, func() error { return read(ctx, conn) })
		})
	})
}

// somewhere runs a read on a standby, if one may and can answer it, and otherwise on the primary.
func (r *reader) somewhere(ctx context.Context, wanted use, run func(context.Context, use, *database) error) error {
	if wanted.standby && r.standbys != nil {
		if answered, err := r.standbys.answer(ctx, wanted, run); answered {
			return err
		}
	}
	return r.slot(ctx, wanted, func(wanted use) error { return run(ctx, wanted, r.database) })
}

// slot runs a read with a search slot, if it needs one. The wait for the slot counts towards the time limit.
func (r *reader) slot(ctx context.Context, wanted use, run func(use) error) error {
	if !wanted.searches {
		return run(wanted)
	}
	arrived := time.Now()
	limited, cancel := context.WithTimeout(ctx, wanted.limit)
	defer cancel()
	if r.database.searching.Acquire(limited, 1) != nil {
		return r.database.gaveUp(ctx)
	}
	defer r.database.searching.Release(1)
	wanted.limit -= time.Since(arrived)
	return run(wanted)
}

// Get returns the user with an id.
func (r *reader) Get(ctx context.Context, id int64) (user models.User, err error) {
	err = r.on(ctx, lookup, func(ctx context.Context, conn connection) (err error) {
		user, err = conn.one(ctx, r.queries.ByID, id)
		return err
	})
	return user, err
}

// Count returns how many users match a query.
func (r *reader) Count(ctx context.Context, query models.Query) (n int64, err error) {
	wanted := lookup
	if r.queries.fields.CountIsSearch(query) {
		wanted = search
	}
	values, possible := r.queries.matching(query)
	if !possible {
		return 0, nil
	}
	err = r.on(ctx, wanted, func(ctx context.Context, conn connection) (err error) {
		if conn, err = conn.seeking(ctx, query.Contains); err != nil {
			return err
		}
		return conn.value(ctx, &n, r.queries.Select(query, conn.emails.IgnoresCase, statements.Scan).Count, values...)
	})
	return n, err
}

// Select returns the users that a query selects, page by page: each page begins after the last id of the one before.
// Between two pages nothing is held but a page, however slowly the caller takes them.
func (r *reader) Select(ctx context.Context, query models.Query) iter.Seq2[[]models.User, error] {
	return models.Pages(query, func(next models.Query) ([]models.User, bool, error) { return r.page(ctx, next) })
}
