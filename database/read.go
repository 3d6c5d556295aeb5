package database

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"users-api/models"
)

// reader reads users from statements of either database.
type reader struct {
	fields  models.Fields
	columns []string // of a user, as every statement reads them
}

func newReader(fields models.Fields) reader { return reader{fields, fields.Selected()} }

// each yields the users that a query selects, each valid until the next. Rows and Scan take 1.0 µs for each, and Find
// 3.7.
func (r reader) each(query *gorm.DB) iter.Seq2[*models.User, error] {
	return func(yield func(*models.User, error) bool) {
		rows, err := query.Model(&models.User{}).Select(r.columns).Rows()
		if err != nil {
			yield(nil, err)
			return
		}
		defer rows.Close() //nolint:errcheck // Err says what went wrong
		var user models.User
		texts := make([]sql.NullString, len(r.columns)-1)
		into := []any{&user.ID}
		for i := range texts {
			into = append(into, &texts[i])
		}
		for rows.Next() {
			if err := rows.Scan(into...); err != nil {
				yield(nil, err)
				return
			}
			user.Added = nil // an earlier user keeps its own
			for i, field := range r.fields {
				if field.SetNull(&user.Profile); texts[i].Valid {
					field.Set(&user.Profile, texts[i].String)
				}
			}
			user.CreatedAt = texts[len(r.fields)].String
			r.fields.ShowTimes(&user)
			if !yield(&user, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(nil, err)
		}
	}
}

// ahead yields many users, while a goroutine reads on: the driver takes as long for a user as what is done with it.
func (u *Users) ahead(users iter.Seq2[*models.User, error]) iter.Seq2[*models.User, error] {
	return func(yield func(*models.User, error) bool) {
		parts, stop, failed := make(chan []models.User), make(chan struct{}), error(nil)
		go func() {
			defer close(parts)
			part, room := make([]models.User, 0, 256), pageBytes
			for user, err := range users {
				if failed = err; err != nil {
					break
				}
				part = append(part, *user)
				if room -= u.fields.Bytes(&user.Profile); len(part) == cap(part) || room < 0 {
					select {
					case parts <- part:
						part, room = make([]models.User, 0, cap(part)), pageBytes
					case <-stop:
						return
					}
				}
			}
			parts <- part
		}()
		defer func() {
			close(stop)
			for range parts { // until nothing is read any more
			}
		}()
		for part := range parts {
			for i := range part {
				if !yield(&part[i], nil) {
					return
				}
			}
		}
		if failed != nil {
			yield(nil, failed)
		}
	}
}

// one returns the user with an id.
func (r reader) one(db *gorm.DB, id int64) (user models.User, err error) {
	err = models.ErrNotFound
	for found, failed := range r.each(db.Where("id = ?", id)) {
		if err = failed; err == nil {
			user = *found
		}
	}
	return user, err
}

// Who says which user is meant: the one with the id, or if there is an email, the one who has that.
type Who struct {
	ID    int64
	Email string
}

// find returns the user who is meant, with some clauses in its query. An email is that of the same user as in a list.
func (u *Users) find(db *gorm.DB, who Who, clauses ...clause.Expression) (user models.User, err error) {
	table, err := u.catalog.table(db)
	if err != nil {
		return user, err
	}
	query := db.Clauses(clauses...)
	if who.Email == "" {
		return u.one(query, who.ID)
	}
	sameEmail := u.expression(models.Comparison{Column: "email", Operator: models.Equal, Value: who.Email}, table)
	err = models.ErrNotFound
	for found, failed := range u.each(query.Where(sameEmail).Limit(2)) {
		switch {
		case failed != nil:
			return user, failed
		case err == nil:
			return user, models.ErrSeveral
		}
		user, err = *found, nil
	}
	return user, err
}

// mayStore reports whether the database can hold a text.
func (u *Users) mayStore(text string) bool {
	return u.traits.storesAnyText || utf8.ValidString(text) && !strings.Contains(text, "\x00")
}

// selected yields the users that a query selects, in its order.
func (u *Users) selected(db *gorm.DB, query models.Query) (iter.Seq2[*models.User, error], error) {
	if query.Sort != "" {
		return u.sorted(db, query)
	}
	selected, err := u.matching(db, query)
	if err != nil {
		return nil, err
	}
	order, beyond := "", ">"
	if query.Descending {
		order, beyond = " DESC", "<"
	}
	if query.After != nil {
		selected = selected.Where("id "+beyond+" ?", query.After.ID)
	}
	return u.each(limited(selected.Order("id"+order), query.Skip, query.Limit)), nil
}

// limited lets a query leave out some users, and then return at most some; 0 is no limit.
func limited(users *gorm.DB, skip, limit int) *gorm.DB {
	if skip > 0 {
		users = users.Offset(skip)
	}
	if limit > 0 {
		users = users.Limit(limit)
	}
	return users
}

// sortedTogether is how many users of a sorted page are read with one statement: each may have more than a MiB.
const sortedTogether = 16

// sorted is selected for a query that sorts. First it reads the places of the users alone: to sort whole users could
// take all memory.
func (u *Users) sorted(db *gorm.DB, query models.Query) (iter.Seq2[*models.User, error], error) {
	places, err := u.places(db, query)
	if err != nil {
		return nil, err
	}
	return func(yield func(*models.User, error) bool) {
		for part := range slices.Chunk(places, sortedTogether) {
			users, ids := map[int64]models.User{}, []int64{}
			for _, place := range part {
				ids = append(ids, place.ID)
			}
			for user, err := range u.each(db.Where("id IN ?", ids)) {
				if err != nil {
					yield(nil, err)
					return
				}
				users[user.ID] = *user
			}
			for _, place := range part {
				user := users[place.ID]
				if user.SortKey = place.Key; !yield(&user, nil) {
					return
				}
			}
		}
	}, nil
}

// places returns where the users of a query that sorts stand, in its order.
func (u *Users) places(db *gorm.DB, query models.Query) (places []models.Place, err error) {
	selected, err := u.matching(db, query)
	if err != nil || query.After != nil && !u.mayStore(query.After.Key) {
		return nil, err
	}
	order, beyond := "", ">"
	if query.Descending {
		order, beyond = " DESC", "<"
	}
	key := u.sortKey(query.Sort)
	upTo := query.Limit // for both parts, as all are skipped in the end
	if upTo > 0 {
		upTo += query.Skip
	}
	selected = limited(selected.Select("id, "+key+" AS key"), 0, upTo).Session(&gorm.Session{})
	parts := []any{selected.Order(key + order + ", id" + order)}
	if query.After != nil {
		parts = nil
		for _, part := range u.traits.beyond {
			after := map[string]any{"key": query.After.Key, "id": query.After.ID}
			behind := selected.Where(fmt.Sprintf(part.condition, key, beyond), after)
			parts = append(parts, behind.Order(fmt.Sprintf(part.order, key, beyond, order)))
		}
	}
	from := "(SELECT * FROM (?) AS part" + strings.Repeat(" UNION ALL SELECT * FROM (?) AS part", len(parts)-1) + ") AS places"
	all := db.Session(&gorm.Session{NewDB: true}).Table(from, parts...).Order("key" + order + ", id" + order)
	err = limited(all, query.Skip, query.Limit).Scan(&places).Error
	return places, err
}

// sortKey is that by which users are sorted, in SQL.
func (u *Users) sortKey(column string) string {
	return fmt.Sprintf(u.traits.sortKey, fmt.Sprintf(u.traits.fold, u.shown(column)))
}

// read runs a read on a connection. A search may look at every user, and waits for others first.
func (u *Users) read(ctx context.Context, isSearch bool, run func(db *gorm.DB) error) error {
	if !isSearch {
		return u.storageError(ctx, u.pool.read(ctx, run))
	}
	if err := u.searches.Acquire(ctx, 1); err != nil {
		return err
	}
	defer u.searches.Release(1)
	return u.storageError(ctx, u.pool.snapshot(ctx, run))
}

// Get returns the user who is meant.
func (u *Users) Get(ctx context.Context, who Who) (user models.User, err error) {
	err = u.read(ctx, false, func(db *gorm.DB) (err error) {
		user, err = u.find(db, who)
		return err
	})
	return user, err
}

// Count returns how many users match a query, regardless of its Limit and After.
func (u *Users) Count(ctx context.Context, query models.Query) (n int64, err error) {
	err = u.read(ctx, u.fields.IsSearch(query) || len(query.Where) == 0, func(db *gorm.DB) error {
		matching, err := u.matching(db, query)
		if err == nil {
			err = matching.Count(&n).Error
		}
		return err
	})
	return n, err
}

// A page of a list is at most this many users, or slightly more bytes than these: a slow reader holds the response bytes
// of one page.
const (
	pageUsers = 512
	pageBytes = 64 << 10
)

// Select returns the users that a query selects, by their ids, in pages. Nothing is held between two pages: a user that
// exists throughout comes once, and one that is written meanwhile may come. An error ends the sequence.
func (u *Users) Select(ctx context.Context, query models.Query) iter.Seq2[[]models.User, error] {
	return func(yield func([]models.User, error) bool) {
		next, wanted := query, cmp.Or(query.Limit, math.MaxInt)
		for wanted > 0 {
			next.Limit = min(pageUsers, wanted)
			var page []models.User
			room := 0
			err := u.read(ctx, u.fields.IsSearch(query), func(db *gorm.DB) error {
				selected, err := u.selected(db, next)
				if err != nil {
					return err
				}
				page, room = nil, pageBytes // most queries for a value find one user: no room is made for pageUsers
				for user, err := range selected {
					if err != nil {
						return err
					}
					page = append(page, *user)
					if room -= u.fields.Bytes(&user.Profile); room < 0 {
						break
					}
				}
				return nil
			})
			if err != nil {
				yield(nil, err)
				return
			}
			isLast := len(page) < next.Limit && room >= 0
			// This comes before the page is sent: what is used later is held while a slow reader takes it.
			if wanted -= len(page); !isLast {
				next.After, next.Skip = new(page[len(page)-1].Place()), 0
			}
			if !yield(page, nil) || isLast {
				return
			}
		}
	}
}
