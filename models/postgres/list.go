package postgres

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"users-api/models"
	"users-api/models/listcache"
)

// List calls send with the cached list, or with one that is read while it is sent, if none can be cached.
func (u *Users) List(ctx context.Context, send func(models.List) error) error {
	return u.cache.List(ctx, send, u.Select(ctx, models.Query{}))
}

// Page returns a page of the cached list, or nil.
func (u *Users) Page(ctx context.Context, query models.Query) (*models.Page, error) {
	return u.cache.Page(ctx, query)
}

// listSource is where the cached list is read from. It implements [listcache.Source]. It borrows a connection each
// time, which may lead to a different server than the last.
type listSource struct {
	reader *reader
	last   moment // at which the last transaction that succeeded began

	// The following fields belong to the transaction under way.
	ctx    context.Context
	inside *reader
}

// moment is what is known about a transaction.
type moment struct {
	incarnation string // begins with the snapshot
	feed        feedState
}

// snapshot returns the snapshot, and what the server says about itself besides.
func (m moment) snapshot() (snapshot, server string) {
	snapshot, server, _ = strings.Cut(m.incarnation, " ")
	return snapshot, server
}

// Unchanged asks for the incarnation outside of any transaction.
func (s *listSource) Unchanged(ctx context.Context) (unchanged bool, err error) {
	var now string
	err = s.reader.on(ctx, lookup, func(ctx context.Context, conn connection) (err error) {
		now, err = conn.incarnation(ctx)
		return err
	})
	return err == nil && now == s.last.incarnation, err
}

func (c connection) incarnation(ctx context.Context) (now string, err error) {
	if err = c.value(ctx, &now, incarnation); class(sqlState(err)) == classSyntax {
		err = listcache.ErrNotCached // there is no such function, or this user may not call it
	}
	return now, err
}

// Transaction calls read in a transaction whose snapshot is that of the incarnation.
func (s *listSource) Transaction(ctx context.Context, read func(listcache.Changes) error) error {
	var now moment
	wanted, before := s.use(ctx)
	err := s.reader.inSnapshot(ctx, wanted, func(ctx context.Context, conn connection, inside *reader) (err error) {
		may := false
		if now.incarnation = before; conn.after == nil {
			now.incarnation, err = conn.incarnation(ctx)
		}
		if err == nil {
			err = conn.value(ctx, &may, cacheable, conn.after != nil)
		}
		if err != nil {
			return err
		}
		if !may {
			return listcache.ErrNotCached
		}
		if now.feed, err = conn.feed(ctx); err != nil {
			return err
		}
		since, err := conn.changedSince(ctx, s.last, now)
		if err != nil {
			return err
		}
		s.ctx, s.inside = ctx, inside
		return read(since)
	})
	if err != nil {
		now = moment{}
	}
	s.last = now
	return err
}

// use returns what the next transaction is for, and, if a standby may run it, the incarnation of the primary before it. A
// standby shows at least what the primary showed then; where it shows more, the primary's snapshot has moved on, and the list
// is read again. With a feed, the transaction reads little, and that sooner on the primary.
func (s *listSource) use(ctx context.Context) (wanted use, before string) {
	wanted = listing
	last := s.reader.database.checked.Load()
	if s.reader.standbys == nil || last == nil || last.table.recording {
		wanted.standby = false
		return wanted, ""
	}
	err := s.reader.on(ctx, use{limit: patience, brief: true}, func(ctx context.Context, conn connection) (err error) {
		before, err = conn.incarnation(ctx)
		return err
	})
	wanted.standby = err == nil
	return wanted, before
}

// Cursor returns where the feed ended when the last transaction began.
func (s *listSource) Cursor() string { return s.last.feed.cursor(s.last.feed.last) }

// changedSince returns which users were written between two moments, by any program, if the feed tells: on one incarnation
// of the server, with the same definition of the feed, and if no entry of that time was deleted because of its age. An entry
// is committed together with what it tells of, so what one snapshot sees and the other does not is exactly what was written
// between them.
func (c connection) changedSince(ctx context.Context, before, now moment) (since listcache.Changes, err error) {
	snapshot, server := before.snapshot()
	_, serverNow := now.snapshot()
	if now.feed.epoch == "" || now.feed.epoch != before.feed.epoch || server != serverNow {
		return listcache.Unknown(), nil
	}
	lowest, _, _ := strings.Cut(snapshot, ":")
	if xid, err := strconv.ParseUint(lowest, 10, 64); err != nil || now.feed.begin.xid >= xid {
		return listcache.Unknown(), nil
	}
	err = c.query(ctx, func(rows pgx.Rows) error {
		var id *int64
		err := rows.Scan(&id)
		if id == nil {
			since.AddAll()
		} else {
			since.Add(*id)
		}
		return err
	}, changedSince, snapshot, int64(listcache.MaxChanges+1), fmt.Sprint(before.feed.last.xid), before.feed.last.seq)
	return since, err
}

// All returns every user, page by page.
func (s *listSource) All() iter.Seq2[models.User, error] {
	return models.Each(s.inside.Select(s.ctx, models.Query{}))
}

// Range returns the users whose ids are at least from and at most to.
func (s *listSource) Range(from, to int64) iter.Seq2[models.User, error] {
	return func(yield func(models.User, error) bool) {
		err := s.inside.on(s.ctx, lookup, func(ctx context.Context, conn connection) error {
			return conn.users(ctx, func(user *models.User) error {
				if !yield(*user, nil) {
					return errEnough
				}
				return nil
			}, s.inside.queries.InRange, from, to)
		})
		if err != nil {
			yield(models.User{}, err)
		}
	}
}
