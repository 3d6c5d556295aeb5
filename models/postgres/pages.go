package postgres

import (
	"context"
	"sync/atomic"

	"users-api/models"
)

// A page is at most this many users, or slightly more than this many bytes of their texts. It takes about 1 ms to read,
// and a slow reader holds the response bytes of one page.
const (
	mostUsers = 1000
	pageBytes = 128 << 10
)

// fewUsers is what the first page after startup asks for: their texts may have 1 MB each.
const fewUsers = 16

// pageSize is how many users the next page asks for. PostgreSQL sends all that a statement asks for, so users beyond
// pageBytes are sent for nothing. After a page that was cut there, the next one asks for as many users as that page
// held; after a page that was less than half full, for twice as many.
type pageSize struct{ users atomic.Int64 }

func newPageSize() *pageSize {
	s := &pageSize{}
	s.set(fewUsers)
	return s
}

func (s *pageSize) set(users int) { s.users.Store(int64(max(1, min(users, mostUsers)))) }

func (s *pageSize) get() int { return int(s.users.Load()) }

// page reads the first page of a query, and reports whether more users may come.
func (r *reader) page(ctx context.Context, query models.Query) (page []models.User, more bool, err error) {
	values, possible := r.queries.matching(query)
	if !possible {
		return nil, false, nil
	}
	if query.After != nil {
		values = append(values, *query.After)
	}
	limit := r.pages.get()
	if query.Limit > 0 {
		limit = min(limit, query.Limit)
	}
	wanted := paging
	switch {
	case r.queries.fields.IsSearch(query):
		wanted = search
	case r.queries.fields.HasUnique(query):
		wanted = lookup
	}
	whole := false
	err = r.on(ctx, wanted, func(ctx context.Context, conn connection) (err error) {
		if conn, err = conn.seeking(ctx, query.Contains); err != nil {
			return err
		}
		selected := r.queries.Select(query, conn.emails.IgnoresCase, conn.access(query.Contains))
		page, whole, err = r.readPage(ctx, conn, selected.Users, append(values, int64(limit)))
		return err
	})
	if query.Limit > 0 && len(page) >= query.Limit {
		return page[:query.Limit], false, err
	}
	return page, !whole || len(page) >= limit, err
}

// readPage reads the users of a statement until their texts fill a page, and reports whether it has read all.
func (r *reader) readPage(ctx context.Context, conn connection, statement string, values []any) (
	page []models.User, whole bool, err error) {
	left := pageBytes
	whole = true
	err = conn.users(ctx, func(user *models.User) error {
		if left <= 0 {
			whole = false
			r.pages.set(len(page)) // before the rest arrives
			return errEnough
		}
		page = append(page, *user)
		left -= r.queries.fields.Bytes(&user.NewUser)
		return nil
	}, statement, values...)
	if err == nil && whole && left > pageBytes/2 && len(page) >= r.pages.get() {
		r.pages.set(2 * len(page))
	}
	return page, whole, err
}
