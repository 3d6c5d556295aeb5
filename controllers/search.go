package controllers

import (
	"iter"
	"net/http"
	"slices"
	"strconv"

	"github.com/gin-gonic/gin"

	"users-api/models"
)

const (
	// pageSize is how much of a page is held until its end, because its headers say whether more users follow: 1,000
	// users, unless their names are long.
	pageSize = 1000 * userSize

	userSize = 128 // the most that nearly all users need, in bytes
)

// search handles GET and HEAD /api/users with parameters.
func (u *Users) search(c *gin.Context) error {
	asked, err := u.list.parse(c.Request.URL.RawQuery)
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	cursor, err := u.users.Cursor(ctx) // before the users: none of their changes is missed, and one may come again
	if err != nil {
		return err
	}
	setCursor(c, cursor)
	if asked.Query.Count {
		total, err := u.users.Count(ctx, asked.Query)
		if err != nil {
			return err
		}
		c.Header("X-Total-Count", strconv.FormatInt(total, 10))
	}
	if asked.Limit > 0 {
		return u.page(c, asked)
	}
	return sendArray(c, u.fields.NewArray(0), u.users.Select(ctx, asked.Query))
}

// page sends at most the requested number of users, and where the next ones are. It reads one user more, to know
// whether there are any. Users beyond pageSize are not held: they are read a second time, while they are sent.
func (u *Users) page(c *gin.Context, asked request) error {
	page, bytes := u.fields.NewArray(asked.Limit*userSize), 0
	query := asked.Query
	query.Limit++
	var last, held int64
	read, more := 0, false
	var user models.User // one for all: Add makes it escape
	for next, err := range models.Each(u.users.Select(c.Request.Context(), query)) {
		if err != nil {
			return err
		}
		if more = read == asked.Limit; more {
			break
		}
		user = next
		read, last = read+1, user.ID
		if bytes < pageSize {
			held = last
			bytes = page.Add(&user)
		}
	}
	if more {
		c.Header("Link", "<"+asked.next(last)+`>; rel="next"`)
	}
	if held == last {
		return sendArray(c, page, func(func([]models.User, error) bool) {})
	}
	query.After, query.Limit = &held, 0
	return sendArray(c, page, until(last, query.Descending, u.users.Select(c.Request.Context(), query)))
}

// until yields users up to the id last, wherever others were added meanwhile.
func until(last int64, descending bool, pages iter.Seq2[[]models.User, error]) iter.Seq2[[]models.User, error] {
	return func(yield func([]models.User, error) bool) {
		for page, err := range pages {
			end := slices.IndexFunc(page, func(user models.User) bool {
				return !descending && user.ID > last || descending && user.ID < last
			})
			if end >= 0 {
				page = page[:end]
			}
			if !yield(page, err) || end >= 0 {
				return
			}
		}
	}
}

// sendArray adds the users of pages to an array and sends it, in chunks if it is long. If the response is one user, it has
// the entity tag of that user, so that a user found by a search can be changed with If-Match.
func sendArray(c *gin.Context, array *models.Array, pages iter.Seq2[[]models.User, error]) error {
	revalidate(c)
	c.Header("Content-Type", contentType)
	for chunk, err := range array.Chunks(pages) {
		switch {
		case err != nil:
			return err
		case array.Ended && !c.Writer.Written():
			if array.Users == 1 && notModified(c, entityTag(chunk[1:len(chunk)-1])) {
				return nil
			}
			return send(c, http.StatusOK, contentType, chunk)
		case c.Request.Method == http.MethodHead:
			return nil
		}
		if _, err := c.Writer.Write(chunk); err != nil {
			return err
		}
	}
	return nil
}
