package controllers

import (
	"iter"
	"net/http"
	"slices"
	"strconv"

	"github.com/gin-gonic/gin"

	"users-api/models"
)

// List handles GET and HEAD /api/users: 200, 304, 400 or 500. Without parameters it is the specification's list: if its
// version is known, so is its length, and a client that already has it gets 304.
func (a *API) List(c *gin.Context) error {
	if c.Request.URL.RawQuery != "" {
		return a.listSelected(c)
	}
	return a.users.List(c.Request.Context(), func(list models.List) (err error) {
		if list.Version == "" {
			if list.Cursor, err = a.users.Cursor(c.Request.Context()); err != nil {
				return err
			}
		}
		Revalidate(c)
		c.Header("Changes-Cursor", list.Cursor)
		c.Header("Content-Type", contentType)
		if list.Version != "" {
			if notModified(c, `"`+list.Version+`"`) {
				return nil
			}
			c.Header("Content-Length", strconv.Itoa(list.Length))
		}
		for chunk, err := range list.Chunks {
			if err != nil {
				return err
			}
			if c.Request.Method == http.MethodHead {
				return nil
			}
			if _, err := c.Writer.Write(chunk); err != nil {
				return err
			}
		}
		return nil
	})
}

const (
	// userBytes is the most that nearly all users need as JSON.
	userBytes = 128
	// pageBytes is how much of a page is held until its end, because its headers say whether more users follow.
	pageBytes = 1000 * userBytes
)

// page is what is known of the users that are selected before they are sent.
type page struct {
	json   []byte
	users  int          // how many are in it
	last   models.Place // where the last of them stands
	more   bool         // others follow
	total  int64        // how many users match
	cursor string       // of the feed, at a moment before; "" if changes are not recorded
}

// listSelected sends the users that the parameters select.
func (a *API) listSelected(c *gin.Context) error {
	asked, err := a.list.parse(c.Request.URL.RawQuery)
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	page := &page{}
	page.cursor, err = a.users.Cursor(ctx) // before the users: none of their changes is missed, and one may come again
	if err == nil && asked.Query.Count {
		page.total, err = a.users.Count(ctx, asked.Query)
	}
	if err != nil {
		return err
	}
	if asked.Limit > 0 {
		return a.readPage(c, asked, page)
	}
	describePage(c, &asked, page)
	return sendArray(c, a.fields.NewArray(0), a.users.Select(ctx, asked.Query))
}

// describePage sets the headers that say more than the body.
func describePage(c *gin.Context, asked *request, page *page) {
	c.Header("Changes-Cursor", page.cursor)
	if asked.Query.Count {
		c.Header("X-Total-Count", strconv.FormatInt(page.total, 10))
	}
	if page.more {
		c.Header("Link", "<"+asked.next(page.last)+`>; rel="next"`)
	}
}

// readPage sends at most the requested number of users, and where the next ones are. It reads one user more, to know
// whether there are any. Users beyond pageBytes are not held: they are read again, while they are sent.
func (a *API) readPage(c *gin.Context, asked request, page *page) error {
	array, bytes := a.fields.NewArray(asked.Limit*userBytes), 0
	query := asked.Query
	query.Limit++
	var held models.Place
	for users, err := range a.users.Select(c.Request.Context(), query) {
		if err != nil {
			return err
		}
		for i := range users {
			if page.more = page.users == asked.Limit; page.more {
				break
			}
			page.users, page.last = page.users+1, users[i].Place()
			if bytes < pageBytes {
				held = page.last
				bytes = array.Add(&users[i])
			}
		}
	}
	describePage(c, &asked, page)
	if held == page.last {
		page.json = array.End()
		return sendWhole(c, page)
	}
	query.After, query.Limit = &held, 0
	return sendArray(c, array, until(page.last, query.Descending, a.users.Select(c.Request.Context(), query)))
}

// until yields users up to the place last, wherever others were added meanwhile.
func until(last models.Place, descending bool, pages iter.Seq2[[]models.User, error]) iter.Seq2[[]models.User, error] {
	return func(yield func([]models.User, error) bool) {
		for page, err := range pages {
			end := slices.IndexFunc(page, func(user models.User) bool {
				order := user.Place().Compare(last)
				return !descending && order > 0 || descending && order < 0
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

// sendWhole sends a page that is known to its end, with its entity tag. That of one user is the user's own, so that a
// user found by a search can be changed with If-Match. Other users have another tag when others follow them: a client
// that gets 304 keeps the Link that it has. So the 304 of a last page with one user has a Link without links.
func sendWhole(c *gin.Context, page *page) error {
	tagged := page.json
	switch {
	case page.users == 1:
		tagged = tagged[1 : len(tagged)-1]
	case page.more:
		tagged = tagged[:len(tagged)-1]
	}
	Revalidate(c)
	if notModified(c, entityTag(tagged)) {
		if page.users == 1 && !page.more && c.Query("limit") != "" {
			c.Writer.Header().Set("Link", "") // Gin's Header would remove it
		}
		return nil
	}
	return send(c, http.StatusOK, contentType, page.json)
}

// sendArray adds the users of pages to an array and sends it, in chunks if it is long. One user is sent as a whole.
func sendArray(c *gin.Context, array *models.Array, pages iter.Seq2[[]models.User, error]) error {
	Revalidate(c)
	c.Header("Content-Type", contentType)
	for chunk, err := range array.Chunks(pages) {
		switch {
		case err != nil:
			return err
		case array.Ended && array.Users == 1:
			return sendWhole(c, &page{json: chunk, users: 1})
		case array.Ended && !c.Writer.Written():
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
