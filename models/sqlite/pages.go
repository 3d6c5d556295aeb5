package sqlite

import (
	"iter"

	"users-api/models"
	"users-api/models/sqlite/dbfile"
	"users-api/models/statements"
)

// A page is at most this many users, or slightly more than this many bytes of their texts. It takes about 0.3 ms to
// read, and a slow reader holds the response bytes of one page.
const (
	pageUsers = 512
	pageBytes = 64 << 10
)

// pages returns the users that a query selects. Each page is read by a call of on.
func pages(query models.Query, on func(func(*connection) error) error) iter.Seq2[[]models.User, error] {
	return models.Pages(query, func(next models.Query) (page []models.User, more bool, err error) {
		err = on(func(conn *connection) (err error) {
			page, more, err = conn.page(next)
			return err
		})
		return page, more, err
	})
}

// page reads the first page of a query, and reports whether more users may come.
func (c *connection) page(query models.Query) (page []models.User, more bool, err error) {
	limit := pageUsers
	if query.Limit > 0 {
		limit = min(limit, query.Limit)
	}
	sought, err := c.sought(query)
	if err != nil {
		return nil, false, err
	}
	if sought == "" {
		return c.readPage(query, limit, statements.Scan, c.selecting(query))
	}
	near, err := c.selectingNearby(query)
	if err == nil {
		page, more, err = c.readPage(query, limit, statements.Nearby, near)
	}
	if err != nil || more || len(page) == limit {
		return page, more, err
	}
	return c.readPage(query, limit, statements.Index, c.selectingByIndex(query, sought))
}

func (c *connection) readPage(query models.Query, limit int, access statements.Access, values []any) (
	page []models.User, more bool, err error) {
	page = make([]models.User, 0, min(limit, query.Limit))
	left := pageBytes
	err = c.read(func(user *models.User) error {
		if left <= 0 {
			more = true
			return dbfile.ErrEnough
		}
		page = append(page, *user)
		left -= c.fields.Bytes(&user.NewUser)
		return nil
	}, c.selected(query, access), append(values, int64(limit))...)
	return page, err == nil && (more || len(page) == limit && limit != query.Limit), err
}

func (c *connection) readRange(from, to int64) iter.Seq2[models.User, error] {
	return func(yield func(models.User, error) bool) {
		err := c.read(func(user *models.User) error {
			if !yield(*user, nil) {
				return dbfile.ErrEnough
			}
			return nil
		}, c.InRange, from, to)
		if err != nil {
			yield(models.User{}, err)
		}
	}
}
