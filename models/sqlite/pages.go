package sqlite

import (
	"iter"

	"users-api/models"
)

// A page is at most this many users, or slightly more than this many bytes of their texts. It takes about 0.3 ms to
// read, and a slow reader holds the response bytes of one page.
const (
	pageUsers = 512
	pageBytes = 64 << 10
)

// pages returns the users that a query selects. Each page is read by a call of on.
func (q *queries) pages(query models.Query, on func(func(connection) error) error) iter.Seq2[[]models.User, error] {
	return models.Pages(query, func(next models.Query) (page []models.User, more bool, err error) {
		err = on(func(conn connection) (err error) {
			page, more, err = q.page(conn, next)
			return err
		})
		return page, more, err
	})
}

// page reads the first page of a query, and reports whether more users may come.
func (q *queries) page(conn connection, query models.Query) (page []models.User, more bool, err error) {
	limit := pageUsers
	if query.Limit > 0 {
		limit = min(limit, query.Limit)
	}
	room := make([]models.User, 0, min(limit, query.Limit))
	page, whole, err := q.readPage(conn, query, limit, room)
	return page, err == nil && (!whole || len(page) == limit && limit != query.Limit), err
}

// readPage appends at most limit users of a query to a page until it is full, and reports whether it has read all.
func (q *queries) readPage(conn connection, query models.Query, limit int, page []models.User) (
	_ []models.User, whole bool, err error) {
	left := pageBytes
	whole = true
	text, values := q.selected(query, limit)
	err = q.read(conn, func(user *models.User) error {
		if left <= 0 {
			whole = false
			return errEnough
		}
		page = append(page, *user)
		left -= q.fields.Bytes(&user.NewUser)
		return nil
	}, text, values...)
	return page, whole, err
}

// readRange returns the users with ids from the first to the last given, while it reads them.
func (q *queries) readRange(conn connection, from, to int64) iter.Seq2[models.User, error] {
	return func(yield func(models.User, error) bool) {
		err := q.read(conn, func(user *models.User) error {
			if !yield(*user, nil) {
				return errEnough
			}
			return nil
		}, q.InRange, from, to)
		if err != nil {
			yield(models.User{}, err)
		}
	}
}
