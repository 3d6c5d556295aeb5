// Package controllers handles the requests: HTTP in, one call into database, HTTP out. Each handler returns an error for
// what it refuses, and only [Handle] turns errors into responses.
package controllers

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/gin-gonic/gin"
	"golang.org/x/sync/semaphore"

	"users-api/database"
	"users-api/models"
)

// API handles the endpoints under /api/users (specification, section 4).
type API struct {
	users         *database.Users
	fields        models.Fields
	settable      models.Fields // those that a client may set
	logger        *slog.Logger  // of imports
	list, csvList parameters
	temp          tempFiles
	// places and readersPlaces are held by answers of some size in memory.
	places, readersPlaces *semaphore.Weighted

	stop    context.Context // as for NewAPI
	waiting atomic.Int64    // clients that wait for changes
}

// NewAPI returns the handlers for the users in a storage. No client waits for changes once stop ends.
func NewAPI(users *database.Users, logger *slog.Logger, stop context.Context) *API {
	fields := users.Fields()
	list := listParameters(fields)
	return &API{
		users: users, fields: fields, settable: fields.Settable(), logger: logger,
		list: list, csvList: list.and("an export", forSpreadsheet), temp: tempFiles{prefix: users.TempPrefix},
		places: semaphore.NewWeighted(answersInMemory), readersPlaces: semaphore.NewWeighted(answersInMemory), stop: stop,
	}
}

// Create handles POST /api/users: 201, 400 or 500. A duplicate email is a storage error with the text of the storage; a
// client that asks for problems gets 409.
func (a *API) Create(c *gin.Context) error {
	sent := sentUser{fields: a.settable}
	if err := c.ShouldBindWith(&sent, OneObject{}); err != nil {
		return err
	}
	if err := a.fields.Settle(&sent.Values, nil); err != nil {
		return err
	}
	if len(lacking(a.fields, &sent.Profile)) > 0 {
		return errRequired(a.fields.RequiredNames())
	}
	id, err := a.users.Create(c.Request.Context(), sent.Profile)
	switch {
	case err == nil:
	case wantsProblem(c):
		return valueUsed(err, a.fields)
	default:
		return err
	}
	c.Set(LoggedWrite, slog.Int64("user", id))
	c.Header("Location", "users/"+strconv.FormatInt(id, 10)) // relative: it works behind any prefix of a proxy
	return send(c, http.StatusCreated, contentType, a.settable.AppendCreated(nil, id, &sent.Profile))
}

// Get handles GET and HEAD /api/users/:id: 200, 304, 404, 409 or 500.
func (a *API) Get(c *gin.Context) error {
	who, ok := parseWho(c)
	if !ok {
		return models.ErrNotFound
	}
	user, err := a.users.Get(c.Request.Context(), who)
	if err != nil {
		return err
	}
	body := a.fields.AppendUser(nil, &user)
	Revalidate(c)
	if notModified(c, entityTag(body)) {
		return nil
	}
	return send(c, http.StatusOK, contentType, body)
}

// parseWho returns which user a path means: what contains an @ is an email, but SCIM knows users by id alone.
func parseWho(c *gin.Context) (who database.Who, ok bool) {
	text := c.Param("id")
	if strings.Contains(text, "@") && !IsSCIM(c.Request.URL.Path) {
		return database.Who{Email: text}, true
	}
	who.ID, ok = ParseID(text)
	return who, ok
}

// ParseID parses an id exactly as the API writes it: "01", "+1" and "1.0" match no user.
func ParseID(text string) (id int64, ok bool) {
	id, err := strconv.ParseInt(text, 10, 64)
	return id, err == nil && strconv.FormatInt(id, 10) == text
}

// Health handles GET and HEAD /health. It does not ask storage: a lock or a long commit is no reason for a restart.
func Health(c *gin.Context) error {
	return send(c, http.StatusOK, contentType, []byte(`{"status":"ok"}`))
}
