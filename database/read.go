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

// each yields the users that a query selects, each valid until the next, with the key by which they are sorted, if there
// is one. Rows and Scan take 1.0 µs for each, and Find 3.7.
func (r reader) each(query *gorm.DB, sortKey ...string) iter.Seq2[*models.User, error] {
	return func(yield func(*models.User, error) bool) {
		columns := slices.Concat(r.columns, sortKey)
		rows, err := query.Model(&models.User{}).Select(columns).Rows()
		if err != nil {
			yield(nil, err)
			return
		}
		defer rows.Close() //nolint:errcheck // Err says what went wrong
		var user models.User
		texts := make([]sql.NullString, len(columns)-1)
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
			user.CreatedAt = models.ShownTime(texts[len(r.fields)].String)
			if len(sortKey) > 0 {
				user.SortKey = texts[len(texts)-1].String
			}
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
	return u.limits.storesAnyText || utf8.ValidString(text) && !strings.Contains(text, "\x00")
}

// selected returns the users that a query selects, in its order.
func (u *Users) selected(db *gorm.DB, query models.Query) (iter.Seq2[*models.User, error], error) {
	selected, err := u.matching(db, query)
	if err != nil {
		return nil, err
	}
	order, beyond := "", ">"
	if query.Descending {
		order, beyond = " DESC", "<"
	}
	shown := func(users *gorm.DB, skip int) *gorm.DB {
		if skip > 0 {
			users = users.Offset(skip)
		}
		if query.Limit > 0 {
			users = users.Limit(query.Skip - skip + query.Limit)
		}
		return users
	}
	after := query.After
	switch {
	case query.Sort == "":
		if after != nil {
			selected = selected.Where("id "+beyond+" ?", after.ID)
		}
		return u.each(shown(selected.Order("id"+order), query.Skip)), nil
	case after != nil && !u.mayStore(after.Key):
		return u.each(selected.Where("1 = 0")), nil
	}
	key := u.sortKey(query.Sort)
	inOrder := key + order + ", id" + order
	var own []string // sorting what other programs keep in further columns could take all memory
	for _, column := range u.fields.Columns() {
		own = append(own, `users."`+column+`"`)
	}
	selected = shown(selected.Select(own), 0).Session(&gorm.Session{}) // all are skipped in the end
	parts := []any{selected.Order(inOrder)}
	if after != nil {
		parts = nil
		for _, part := range u.limits.beyond {
			place := map[string]any{"key": after.Key, "id": after.ID}
			behind := selected.Where(fmt.Sprintf(part.condition, key, beyond), place)
			parts = append(parts, behind.Order(fmt.Sprintf(part.order, key, beyond, order)))
		}
	}
	// Where all users are sorted, only those of the page are to become text: a time takes PostgreSQL 0.1 µs.
	from := "(SELECT * FROM (?) AS part" + strings.Repeat(" UNION ALL SELECT * FROM (?) AS part", len(parts)-1) + ") AS users"
	page := db.Session(&gorm.Session{NewDB: true}).Table(from, parts...).Order(inOrder)
	return u.each(shown(page, query.Skip), key), nil
}

// sortKey is that by which users are sorted, in SQL.
func (u *Users) sortKey(column string) string {
	stored := `CAST(users."` + column + `" AS TEXT)`
	if column == "created_at" {
		stored = fmt.Sprintf(u.limits.shownTime, stored)
	}
	return fmt.Sprintf(u.limits.sortKey, fmt.Sprintf(u.limits.fold, stored))
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

// A page is at most this many users, or slightly more bytes than these: a slow reader holds the response bytes of one
// page.
const (
	pageUsers = 512
	pageBytes = 64 << 10
)

// Select returns the users that a query selects, in its order, in pages. Nothing is held between two pages: a user that
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
				page, room = make([]models.User, 0, next.Limit), pageBytes
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
