// Package controllers handles the requests: HTTP in, one call into models, HTTP out. Each handler returns an error for
// what it refuses, and only [Handle] turns errors into responses.
package controllers

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"users-api/models"
)

// Users handles the endpoints under /api/users (specification, section 4).
type Users struct {
	users         models.Users
	fields        models.Fields
	logger        *slog.Logger // of imports
	list, csvList parameters
}

// NewUsers returns the handlers for the users in a storage.
func NewUsers(users models.Users, fields models.Fields, logger *slog.Logger) *Users {
	list := listParameters(fields)
	return &Users{users, fields, logger, list, list.and("an export", spreadsheet)}
}

// Create handles POST /api/users: 201, 400 or 500. A duplicate email is a storage error with the text of the storage; a
// client that asks for problems gets 409.
func (u *Users) Create(c *gin.Context) error {
	sent := creation{fields: u.fields}
	if err := c.ShouldBindWith(&sent, oneObject{}); err != nil {
		return err
	}
	id, err := u.users.Create(c.Request.Context(), sent.User)
	if isDuplicate(err) && wantsProblem(c) {
		return errEmailUsed
	}
	if err != nil {
		return err
	}
	c.Header("Location", "users/"+strconv.FormatInt(id, 10)) // relative: it works behind any prefix of a proxy
	return send(c, http.StatusCreated, contentType, u.fields.AppendCreated(nil, id, &sent.User))
}

// Get handles GET and HEAD /api/users/:id: 200, 304, 404 or 500.
func (u *Users) Get(c *gin.Context) error {
	id, ok := parseID(c.Param("id"))
	if !ok {
		return errNoUser
	}
	body, err := u.one(c.Request.Context(), id)
	if err != nil {
		return err
	}
	revalidate(c)
	if notModified(c, entityTag(body)) {
		return nil
	}
	return send(c, http.StatusOK, contentType, body)
}

// one returns the JSON of a user: cut out of the list, if it is in memory, as a page of one.
func (u *Users) one(ctx context.Context, id int64) ([]byte, error) {
	page, err := u.users.Page(ctx, models.From(id))
	switch {
	case err != nil:
		return nil, err
	case page == nil:
		user, err := u.users.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		return u.fields.AppendUser(nil, &user), nil
	case page.Users == 0 || page.Last != id:
		return nil, models.ErrNotFound
	default:
		return page.JSON[1 : len(page.JSON)-1], nil
	}
}

// parseID parses an id exactly as the API writes it: "01", "+1" and "1.0" match no user.
func parseID(text string) (id int64, ok bool) {
	id, err := strconv.ParseInt(text, 10, 64)
	return id, err == nil && strconv.FormatInt(id, 10) == text
}

// List handles GET and HEAD /api/users: 200, 304, 400 or 500. Without parameters it is the specification's list.
func (u *Users) List(c *gin.Context) error {
	if c.Request.URL.RawQuery != "" {
		return u.search(c)
	}
	return u.users.List(c.Request.Context(), func(list models.List) error {
		if list.Version == "" {
			var err error
			if list.Cursor, err = u.users.Cursor(c.Request.Context()); err != nil {
				return err
			}
		}
		return sendList(c, list)
	})
}

// Health handles GET and HEAD /health. It does not ask storage: a lock or a long commit is no reason for a restart.
func Health(c *gin.Context) error {
	return send(c, http.StatusOK, contentType, []byte(`{"status":"ok"}`))
}

// sendList sends all users. If their version is known, so is the length, and a client that already has them gets 304.
func sendList(c *gin.Context, list models.List) error {
	revalidate(c)
	setCursor(c, list.Cursor)
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
}
