package database

import (
	"context"
	"iter"

	"gorm.io/gorm"

	"users-api/models"
)

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
