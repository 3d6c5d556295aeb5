package database

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"iter"
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

// newReader reads the columns of a user in the order of the table of fields: the id, the fields, and the time, as texts
// whatever another program has stored there. No statement that is prepared gets out of date because another program gives
// a column another type. SQLite would take an unknown name in double quotes for a text, unless it has the name of its
// table. GORM does not know user_id: who reads these columns sets the id.
func newReader(fields models.Fields) reader {
	columns := []string{"CAST(id AS BIGINT) AS user_id"}
	for _, name := range append(fields.Names(), "created_at") {
		columns = append(columns, fmt.Sprintf(`CAST(users."%[1]s" AS TEXT) AS "%[1]s"`, name))
	}
	return reader{fields, columns}
}

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
	var isMeant clause.Expression = clause.Eq{Column: "id", Value: who.ID}
	if who.Email != "" {
		isMeant = u.expression(models.Comparison{Column: "email", Operator: models.Equal, Value: who.Email}, table)
	}
	err = models.ErrNotFound
	for found, failed := range u.each(db.Clauses(clauses...).Where(isMeant).Limit(2)) {
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
	return u.each(selected.Order("id" + order).Offset(query.Skip).Limit(cmp.Or(query.Limit, noLimit))), nil
}

// noLimit is GORM's word for all users, where a query has 0.
const noLimit = -1

// readTogether is how many users are read with one statement by their ids: each may have more than a MiB.
const readTogether = 16

// sorted is selected for a query that sorts. First it reads the places of the users alone: to sort whole users could
// take all memory.
func (u *Users) sorted(db *gorm.DB, query models.Query) (iter.Seq2[*models.User, error], error) {
	places, err := u.places(db, query)
	if err != nil {
		return nil, err
	}
	return func(yield func(*models.User, error) bool) {
		for part := range slices.Chunk(places, readTogether) {
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
	upTo := query.Limit + query.Skip // for both parts, as all are skipped in the end
	selected = selected.Select("id, " + key + " AS key").Limit(upTo).Session(&gorm.Session{})
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
	err = all.Offset(query.Skip).Limit(query.Limit).Scan(&places).Error
	return places, err
}

// sortKey is that by which users are sorted, in SQL.
func (u *Users) sortKey(column string) string {
	return fmt.Sprintf(u.traits.sortKey, fmt.Sprintf(u.traits.fold, u.shown(column)))
}

// read runs statements that look at few users.
func (u *Users) read(ctx context.Context, run func(db *gorm.DB) error) error {
	return u.storageError(ctx, u.pool.read(ctx, run))
}

// Get returns the user who is meant.
func (u *Users) Get(ctx context.Context, who Who) (user models.User, err error) {
	err = u.read(ctx, func(db *gorm.DB) (err error) {
		user, err = u.find(db, who)
		return err
	})
	return user, err
}
