package controllers

import (
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"users-api/database"
	"users-api/models"
)

// NeedsFullAccess is the challenge to who may only read (RFC 6750, section 3).
const NeedsFullAccess = `Bearer realm="users-api", error="insufficient_scope"`

const maxHistory = 100 // entries in a response without limit

var historyParameters = parameters{"the history of a user", []parameter{
	number("limit", 1, maxChanges),
	text("before", "a cursor, such as that of an entry", func(value string) bool { return strings.Count(value, ".") == 3 }),
}}

var deletedParameters = historyParameters.and("the list of deleted users",
	text("q", "words in UTF-8, of at most "+strconv.Itoa(maxContains)+" characters", func(value string) bool {
		return strings.TrimSpace(value) != "" && utf8.RuneCountInString(value) <= maxContains
	}))

// History handles GET and HEAD /api/users/:id/changes: 200, 400, 403, 404, 409, 410 or 500.
func (a *API) History(c *gin.Context) error {
	sent, err := parseHistory(c, historyParameters)
	if err != nil {
		return err
	}
	who, ok := parseWho(c)
	if !ok {
		return models.ErrNotFound
	}
	limit := meant(sent, "limit", maxHistory)
	entries, more, err := a.users.History(c.Request.Context(), who, meant(sent, "before", ""), limit)
	if err != nil {
		return err
	}
	linkBefore(c, sent, entries, more)
	return send(c, http.StatusOK, contentType, a.fields.AppendHistory(nil, entries))
}

// Deleted handles GET and HEAD /api/users/deleted: 200, 400, 403, 404, 410 or 500.
func (a *API) Deleted(c *gin.Context) error {
	sent, err := parseHistory(c, deletedParameters)
	if err != nil {
		return err
	}
	limit := meant(sent, "limit", maxHistory)
	deletions, more, err := a.users.Deleted(c.Request.Context(), meant(sent, "q", ""), meant(sent, "before", ""), limit)
	if err != nil {
		return err
	}
	linkBefore(c, sent, deletions, more)
	return send(c, http.StatusOK, contentType, a.fields.AppendDeleted(nil, deletions))
}

// parseHistory reads parameters, and refuses who may only read: entries name other people.
func parseHistory(c *gin.Context, parameters parameters) (sent, error) {
	if database.MayOnlyRead(c.Request.Context()) {
		c.Header("WWW-Authenticate", NeedsFullAccess)
		if caller := CallerOf(c); caller.Person != "" {
			return nil, caller.RefuseWrite()
		}
		return nil, errHistory
	}
	c.Header("Cache-Control", "no-store")
	return parameters.parse(c.Request.URL.RawQuery)
}

// linkBefore links to the entries before the last of a page.
func linkBefore(c *gin.Context, sent sent, entries []models.Change, more bool) {
	if more {
		c.Header("Link", sent.link("before", entries[len(entries)-1].Cursor))
	}
}

// Restore handles POST /api/users/:id/restore: 201, 400, 403, 404, 409 or 500.
func (a *API) Restore(c *gin.Context) error {
	id, ok := ParseID(c.Param("id"))
	sent := sentChange{sentUser: sentUser{fields: a.settable}, all: a.fields}
	if err := c.ShouldBindWith(&sent, OneObject{}); err != nil {
		return err
	}
	if !ok {
		return models.ErrNotDeleted
	}
	if len(sent.fixed) > 0 {
		return errFixed(a.fields)
	}
	user, err := a.users.Restore(c.Request.Context(), id, sent.Values)
	if err != nil {
		return valueUsed(err, a.fields)
	}
	c.Header("Location", "../"+strconv.FormatInt(id, 10))
	return a.sendWritten(c, http.StatusCreated, &user)
}

// Erase handles DELETE /api/users/:id/changes: 204, 403, 404, 409 or 500.
func (a *API) Erase(c *gin.Context) error {
	who, ok := parseWho(c)
	if !ok {
		return models.ErrNotFound
	}
	id, err := a.users.Erase(c.Request.Context(), who)
	if err != nil {
		return err
	}
	c.Set(LoggedWrite, slog.Int64("user", id))
	c.Status(http.StatusNoContent)
	return nil
}
