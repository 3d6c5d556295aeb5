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
	// chunkSize is how much text is collected before it is sent, in bytes: what most pages of storage fill.
	chunkSize = 48 << 10
	// pageSize is how much of a page is held until its end, because its headers say whether more users follow: 1,000
	// users, unless their names are long.
	pageSize = 1000 * userSize

	userSize = 128 // the most that nearly all users need, in bytes
)

// search handles GET and HEAD /api/users with parameters.
func (u *Users) search(c *gin.Context) error {
	asked, err := parseSearch(c.Request.URL.RawQuery)
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	if asked.count {
		total, err := u.users.Count(ctx, asked.Query)
		if err != nil {
			return err
		}
		c.Header("X-Total-Count", strconv.FormatInt(total, 10))
	}
	if asked.Limit > 0 {
		return u.page(c, asked)
	}
	all := newArray(c)
	return all.sendRest(u.users.Select(ctx, asked.Query))
}

// page sends at most the requested number of users, and where the next ones are. It reads one user more, to know
// whether there are any. Users beyond pageSize are not held: they are read a second time, while they are sent.
func (u *Users) page(c *gin.Context, asked search) error {
	page := newArray(c)
	page.text = slices.Grow(page.text, asked.Limit*userSize)
	query := asked.Query
	query.Limit++
	var last, held int64
	read, more := 0, false
	for user, err := range models.Each(u.users.Select(c.Request.Context(), query)) {
		if err != nil {
			return err
		}
		if more = read == asked.Limit; more {
			break
		}
		read, last = read+1, user.ID
		if len(page.text) < pageSize {
			held = last
			page.add(&user)
		}
	}
	if more {
		c.Header("Link", "<"+asked.next(last)+`>; rel="next"`)
	}
	if held == last {
		return page.end()
	}
	query.After, query.Limit = &held, 0
	return page.sendRest(until(last, query.Descending, u.users.Select(c.Request.Context(), query)))
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

// array sends users as one JSON array, in chunks if it is long.
type array struct {
	c     *gin.Context
	text  []byte // not sent yet
	users int
}

func newArray(c *gin.Context) *array { return &array{c: c, text: []byte{'['}} }

func (a *array) add(user *models.User) {
	if a.users > 0 {
		a.text = append(a.text, ',')
	}
	a.text = models.AppendUser(a.text, user)
	a.users++
}

// sendRest adds the users and ends the array. It sends the text after each page that fills it, once the page is no
// longer held, so that a slow reader holds nothing else. A single user is not sent before it is known to be the only
// one.
func (a *array) sendRest(pages iter.Seq2[[]models.User, error]) error {
	for page, err := range pages {
		if err != nil {
			return err
		}
		for i := range page {
			a.add(&page[i])
		}
		if len(a.text) < chunkSize || a.users < 2 {
			continue
		}
		a.header()
		if a.c.Request.Method == http.MethodHead {
			return nil
		}
		if _, err := a.c.Writer.Write(a.text); err != nil {
			return err
		}
		if a.text = a.text[:0]; cap(a.text) > 2*chunkSize {
			a.text = nil // do not keep the memory that one long name took
		}
	}
	return a.end()
}

func (a *array) header() {
	revalidate(a.c)
	a.c.Header("Content-Type", contentType)
}

// end sends the rest. If nothing was sent before and there is one user, the response has the entity tag of that user,
// so that a user found by a search can be changed with If-Match.
func (a *array) end() error {
	text := append(a.text, ']')
	if a.c.Writer.Written() {
		_, err := a.c.Writer.Write(text)
		return err
	}
	a.header()
	if a.users == 1 && notModified(a.c, entityTag(text[1:len(text)-1])) {
		return nil
	}
	return send(a.c, http.StatusOK, contentType, text)
}
