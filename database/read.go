package database

import (
	"cmp"
	"context"
	"database/sql"
	"iter"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"users-api/models"
)

// reader reads users from statements of either database.
type reader struct {
	fields  models.Fields
	texts   models.Fields // the same without their types
	columns []string      // of a user, as every statement reads them
}

// newReader reads the columns of a user in the order of the table of fields: the id, the fields, and created_at, each time
// as it is shown. SQLite would take an unknown name in double quotes for a text, unless it has the name of its table.
func newReader(fields models.Fields, dialect dialect) reader {
	columns := []string{"id"}
	for _, name := range append(fields.Names(), "created_at") {
		column := "users." + quote(name)
		if fields.IsTime(name) {
			column = dialect.shownTime(column) + " AS " + quote(name)
		}
		columns = append(columns, column)
	}
	return reader{fields, fieldsWith(fields.OptionalNames()...), columns}
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
			if !yield(&user, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(nil, err)
		}
	}
}

// withIDs returns the users with some ids by these, of whom it should be few: each may have more than a MiB.
func (r reader) withIDs(db *gorm.DB, ids []int64) (map[int64]*models.User, error) {
	users := map[int64]*models.User{}
	for user, err := range r.each(db.Where("id IN ?", ids)) {
		if err != nil {
			return nil, err
		}
		users[user.ID] = new(*user)
	}
	return users, nil
}

// Who says which user is meant: the one with the id, or if there is an email, the one who has that.
type Who struct {
	ID    int64
	Email string
}

// find returns the user who is meant, with some clauses in its query. An email is that of the same user as in a list.
func (u *Users) find(db *gorm.DB, who Who, clauses ...clause.Expression) (user models.User, err error) {
	var isMeant clause.Expression = clause.Eq{Column: "id", Value: who.ID}
	if who.Email != "" {
		isMeant = u.expression(models.Comparison{Column: "email", Operator: models.Equal, Value: who.Email})
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

// selected yields the users that a query selects, by id.
func (u *Users) selected(db *gorm.DB, query models.Query) iter.Seq2[*models.User, error] {
	selected, order := u.matching(db, query), ascending
	if query.Descending {
		order = descending
	}
	if query.After != nil {
		selected = selected.Where("id "+order.behind+" ?", query.After.ID)
	}
	return u.each(selected.Order("id" + order.word).Offset(query.Skip).Limit(cmp.Or(query.Limit, noLimit)))
}

// order is a direction in SQL: its word, and how what comes behind a place compares with it.
type order struct{ word, behind string }

var ascending, descending = order{"", ">"}, order{" DESC", "<"}

// noLimit is GORM's word for all users, where a query has 0.
const noLimit = -1

// readTogether is how many users are read with one statement by their ids.
const readTogether = 16

// sorted is selected for a query that sorts. First it reads the places of the users alone: to sort whole users could
// take all memory.
func (u *Users) sorted(db *gorm.DB, query models.Query) (iter.Seq2[*models.User, error], error) {
	selected, key, order := u.matching(db, query), u.sortKey(query.Sort), ascending
	if query.Descending {
		order = descending
	}
	none := func(func(*models.User, error) bool) {}
	if query.After != nil {
		if !u.dialect.holds(query.After.Key) {
			return none, nil
		}
		selected = selected.Where("(?, id) "+order.behind+" (?, ?)", key, query.After.Key, query.After.ID)
	}
	var places []models.Place
	err := selected.Select("id, ? AS key", key).Order("key" + order.word + ", id" + order.word).
		Offset(query.Skip).Limit(query.Limit).Scan(&places).Error
	if err != nil {
		return none, err
	}
	return func(yield func(*models.User, error) bool) {
		for some := range slices.Chunk(places, readTogether) {
			var ids []int64
			for _, place := range some {
				ids = append(ids, place.ID)
			}
			users, err := u.withIDs(db, ids)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, place := range some {
				user, exists := users[place.ID] // still, on PostgreSQL in a batch that writes
				if !exists {
					continue
				}
				if user.SortKey = place.Key; !yield(user, nil) {
					return
				}
			}
		}
	}, nil
}

// sortKey is that by which users are sorted, in SQL. Of a field that has a type, what does not fit comes between no value
// and the values.
func (u *Users) sortKey(column string) clause.Expr {
	field, text := u.fields.Find(column), u.shown(column)
	if field == nil || field.Type == nil {
		return clause.Expr{SQL: "substr(coalesce(" + u.dialect.fold(text) + ", ''), 1, 200)"}
	}
	unfit := "substr(" + u.dialect.fold("nullif("+text+", '')") + ", 1, 200)"
	return clause.Expr{SQL: "coalesce('2' || ?, '1' || " + unfit + ", '')", Vars: []any{u.ordered(field)}}
}

// read runs statements that look at few users.
func (u *Users) read(ctx context.Context, run func(db *gorm.DB) error) error {
	if b := batchOf(ctx); b != nil {
		return u.storageError(ctx, run(b.tx))
	}
	return u.storageError(ctx, u.pool.read(ctx, run))
}

// snapshot runs statements that see one moment.
func (u *Users) snapshot(ctx context.Context, run func(tx *gorm.DB) error) error {
	if b := batchOf(ctx); b != nil {
		return u.storageError(ctx, run(b.tx))
	}
	return u.storageError(ctx, u.pool.snapshot(ctx, run))
}

// Get returns the user who is meant.
func (u *Users) Get(ctx context.Context, who Who) (user models.User, err error) {
	err = u.read(ctx, func(db *gorm.DB) (err error) {
		user, err = u.find(db, who)
		return err
	})
	return user, err
}

// Result is what a query finds: a file, a page or a list.
type Result struct {
	Total  int64                          // how many users match, regardless of Limit and After, if the query's Count is set
	Cursor string                         // of the feed, at that moment; "" if changes are not recorded
	Users  iter.Seq2[*models.User, error] // in order, each valid until the next; an error ends the sequence
}

// Query calls send with the users that a query selects, as of one moment, and returns its error: it must not wait for
// a client. Of the few users that an index finds, cursor and count may be of a moment before.
func (u *Users) Query(ctx context.Context, query models.Query, send func(Result) error) error {
	isSearch := u.fields.IsSearch(query)
	// In a transaction, a user is found 0.75 times as often, on PostgreSQL 0.3. A sorted page takes two statements.
	if !isSearch && len(query.Where) > 0 && query.Sort == "" {
		var result Result
		var few []models.User
		err := u.read(ctx, func(db *gorm.DB) (err error) {
			few = nil
			result, err = u.result(db, query)
			for user, failed := range result.Users {
				if failed != nil {
					return failed
				}
				few = append(few, *user)
			}
			return err
		})
		if err != nil {
			return err
		}
		result.Users = func(yield func(*models.User, error) bool) {
			for i := range few {
				if !yield(&few[i], nil) {
					return
				}
			}
		}
		return send(result)
	}
	// It may look at every user, and waits for others that do. A batch has a connection, for which they may wait.
	if (isSearch || query.Limit == 0) && batchOf(ctx) == nil {
		if MayOnlyRead(ctx) {
			if err := u.reading.Acquire(ctx, 1); err != nil {
				return err
			}
			defer u.reading.Release(1)
		}
		if err := u.searches.Acquire(ctx, 1); err != nil {
			return err
		}
		defer u.searches.Release(1)
	}
	return u.snapshot(ctx, func(tx *gorm.DB) error {
		result, err := u.result(tx, query)
		if err == nil {
			err = send(result)
		}
		return err
	})
}

// result returns what a query finds. Its users are read when they are asked for.
func (u *Users) result(db *gorm.DB, query models.Query) (result Result, err error) {
	result.Users = func(func(*models.User, error) bool) {}
	if result.Cursor, err = u.cursor(db); err != nil {
		return result, err
	}
	if query.Count {
		if err := u.matching(db, query).Count(&result.Total).Error; err != nil {
			return result, err
		}
	}
	if query.Sort != "" {
		result.Users, err = u.sorted(db, query)
	} else {
		result.Users = u.selected(db, query)
	}
	return result, err
}
