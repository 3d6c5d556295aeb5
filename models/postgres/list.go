package postgres

import (
	"context"
	"iter"

	"users-api/models"
	"users-api/models/listcache"
)

// List calls send with the cached list, or with one that is read while it is sent, if none can be cached.
func (u *Users) List(ctx context.Context, send func(models.List) error) error {
	return u.cache.List(ctx, send, u.Select(ctx, models.Query{}))
}

// listSource is where the cached list is read from. It implements [listcache.Source]. It borrows a connection each
// time, which may lead to a different server than the last.
type listSource struct {
	reader *reader
	seen   string // the incarnation at which the last transaction began

	// The following fields belong to the transaction under way.
	ctx    context.Context
	inside *reader
}

// Unchanged asks for the incarnation outside of any transaction.
func (s *listSource) Unchanged(ctx context.Context) (unchanged bool, err error) {
	err = s.reader.on(ctx, lookup, func(ctx context.Context, conn connection) error {
		var now string
		err := conn.value(ctx, &now, incarnation)
		unchanged = err == nil && now == s.seen
		return err
	})
	return unchanged, err
}

// Transaction calls read in a transaction whose snapshot is that of the incarnation.
func (s *listSource) Transaction(ctx context.Context, read func(listcache.Changes) error) error {
	return s.reader.inSnapshot(ctx, listing, func(ctx context.Context, conn connection, inside *reader) (err error) {
		may := false
		if err = conn.value(ctx, &s.seen, incarnation); class(sqlState(err)) == classSyntax {
			return listcache.ErrNotCached // there is no such function, or this user may not call it
		}
		if err == nil {
			err = conn.value(ctx, &may, cacheable)
		}
		if err != nil {
			return err
		}
		if !may {
			return listcache.ErrNotCached
		}
		s.ctx, s.inside = ctx, inside
		return read(listcache.Unknown())
	})
}

// All returns every user, page by page.
func (s *listSource) All() iter.Seq2[models.User, error] {
	return models.Each(s.inside.Select(s.ctx, models.Query{}))
}

// Range returns the users whose ids are at least from and at most to.
func (s *listSource) Range(from, to int64) iter.Seq2[models.User, error] {
	return func(yield func(models.User, error) bool) {
		before := from - 1
		for user, err := range models.Each(s.inside.Select(s.ctx, models.Query{After: &before})) {
			if err == nil && user.ID > to || !yield(user, err) {
				return
			}
		}
	}
}
