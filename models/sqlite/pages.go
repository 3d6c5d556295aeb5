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

// read returns the users that a query selects. Each page is read by a call of on.
func (q *queries) read(query models.Query, on func(func(connection) error) error) iter.Seq2[[]models.User, error] {
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
	page, whole, err := readPage(conn, q.ordered(query, limit), room, pageBytes)
	return page, err == nil && (!whole || len(page) == limit && limit != query.Limit), err
}

// readPage appends the users of a statement to a page until their texts are longer than this many bytes, and reports
// whether it has read all.
func readPage(conn connection, s statement, page []models.User, bytes int) (_ []models.User, whole bool, err error) {
	left := bytes
	whole = true
	err = s.read(conn, func(user models.User) error {
		if left <= 0 {
			whole = false
			return errEnough
		}
		page = append(page, user)
		left -= len(user.Name) + len(user.Email)
		return nil
	})
	return page, whole, err
}

// readRange returns the users with ids from the first to the last given, while it reads them.
func (q *queries) readRange(conn connection, from, to int64) iter.Seq2[models.User, error] {
	return func(yield func(models.User, error) bool) {
		err := statement{q.inRange, []any{from, to}}.read(conn, func(user models.User) error {
			if !yield(user, nil) {
				return errEnough
			}
			return nil
		})
		if err != nil {
			yield(models.User{}, err)
		}
	}
}
