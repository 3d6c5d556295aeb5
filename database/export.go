package database

import (
	"context"
	"iter"

	"gorm.io/gorm"

	"users-api/models"
)

// Export is the result of a query, as of one moment: a file, or a page of a list.
type Export struct {
	Total  int64                          // how many users match, regardless of Limit and After, if the query's Count is set
	Cursor string                         // of the feed, at that moment; "" if changes are not recorded
	Users  iter.Seq2[*models.User, error] // in order, each valid until the next; an error ends the sequence
}

// Export calls send with the users that a query selects, as of one moment, and returns its error: it must not wait for
// a client.
func (u *Users) Export(ctx context.Context, query models.Query, send func(Export) error) error {
	run := func(tx *gorm.DB) (err error) {
		var export Export
		table, err := u.catalog.table(tx)
		if err == nil && table.feed {
			export.Cursor, err = u.dialect.cursor(tx)
		}
		if err != nil {
			return err
		}
		if query.Count {
			matching, err := u.matching(tx, query)
			if err == nil {
				err = matching.Count(&export.Total).Error
			}
			if err != nil {
				return err
			}
		}
		selected, err := u.selected(tx, query)
		if err != nil {
			return err
		}
		if export.Users = selected; query.Limit == 0 {
			export.Users = u.ahead(selected)
		}
		return send(export)
	}
	if query.Limit > 0 && !u.fields.IsSearch(query) { // others need not wait for it
		return u.storageError(ctx, u.pool.snapshot(ctx, run))
	}
	return u.read(ctx, true, run)
}
