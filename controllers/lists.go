package controllers

import (
	"cmp"
	"io"
	"iter"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"users-api/database"
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
	// memoryBytes is how much of a page is held in memory: its headers, which are sent first, say whether more users follow.
	memoryBytes = 1000 * userBytes
)

// page is what is known of the users that are selected before they are sent.
type page struct {
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
	if asked.Limit > 0 {
		return a.sendPage(c, &asked)
	}
	ctx := c.Request.Context()
	var all page
	all.cursor, err = a.users.Cursor(ctx) // before the users: none of their changes is missed, and one may come again
	if err == nil && asked.Query.Count {
		all.total, err = a.users.Count(ctx, asked.Query)
	}
	if err != nil {
		return err
	}
	describePage(c, &asked, all)
	return sendArray(c, a.fields.NewArray(0), a.users.Select(ctx, asked.Query))
}

// describePage sets the headers that say more than the body.
func describePage(c *gin.Context, asked *request, p page) {
	c.Header("Changes-Cursor", p.cursor)
	if asked.Query.Count {
		c.Header("X-Total-Count", strconv.FormatInt(p.total, 10))
	}
	if p.more {
		c.Header("Link", "<"+asked.next(p.last)+`>; rel="next"`)
	}
}

// readPage calls add with the requested users, as of one moment, and returns what else is known of them. It reads one
// user more than the limit, to know whether others follow.
func (a *API) readPage(c *gin.Context, asked *request, add func(*models.User) error) (page page, err error) {
	query := asked.Query
	if query.Limit > 0 {
		query.Limit++
	}
	err = a.users.Export(c.Request.Context(), query, func(export database.Export) error {
		page.cursor, page.total = export.Cursor, export.Total
		for user, err := range export.Users {
			if err != nil {
				return err
			}
			if page.more = page.users+1 == query.Limit; page.more {
				break
			}
			page.users, page.last = page.users+1, user.Place()
			if err := add(user); err != nil {
				return err
			}
		}
		return nil
	})
	return page, err
}

// sendPage sends at most the requested number of users, and where the next ones are. A long page is in a file while a
// slow client takes it.
func (a *API) sendPage(c *gin.Context, asked *request) error {
	var file *database.TempFile
	array := a.fields.NewArray(asked.Limit * userBytes)
	page, err := a.readPage(c, asked, func(user *models.User) (err error) {
		if array.Add(user) < memoryBytes {
			return nil
		}
		if file == nil {
			if file, err = a.users.Temp.New(); err != nil {
				return err
			}
		}
		_, err = file.Write(array.Chunk())
		return err
	})
	if file != nil {
		defer file.Close()
	}
	if err != nil {
		return err
	}
	describePage(c, asked, page)
	end := array.End()
	if file == nil {
		return sendWhole(c, page, end)
	}
	if _, err := file.Write(end); err != nil {
		return err
	}
	size, err := file.Seek(0, io.SeekEnd)
	if _, failed := file.Seek(0, io.SeekStart); cmp.Or(err, failed) != nil {
		return cmp.Or(err, failed)
	}
	Revalidate(c)
	c.Header("Content-Type", contentType)
	c.Header("Content-Length", strconv.FormatInt(size, 10))
	c.Status(http.StatusOK)
	_, err = io.Copy(c.Writer, file)
	return err
}

// sendWhole sends a page that is known to its end, with its entity tag. That of one user is the user's own, so that a
// user found by a search can be changed with If-Match. Other users have another tag when others follow them: a client
// that gets 304 keeps the Link that it has. So the 304 of a last page with one user has a Link without links.
func sendWhole(c *gin.Context, page page, json []byte) error {
	tagged := json
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
	return send(c, http.StatusOK, contentType, json)
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
			return sendWhole(c, page{users: 1}, chunk)
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
