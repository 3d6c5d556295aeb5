package controllers

import (
	"cmp"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"users-api/database"
	"users-api/models"
)

// NeedsFullAccess is the challenge to who may only read (RFC 6750, section 3).
const NeedsFullAccess = `Bearer realm="users-api", error="insufficient_scope"`

// fullAccess refuses who may only read: entries name other people.
func fullAccess(c *gin.Context) error {
	if !database.MayOnlyRead(c.Request.Context()) {
		return nil
	}
	c.Header("WWW-Authenticate", NeedsFullAccess)
	if caller := CallerOf(c); caller.Person != "" {
		return caller.RefuseWrite()
	}
	return errHistory
}

// historyRequest is what the parameters of a history, and of the list of deleted users, ask for.
type historyRequest struct {
	text, before string
	limit        int
}

// maxHistory is how many entries a response has without limit.
const maxHistory = 100

var historyParameters = parameters[historyRequest]{"the history of a user", []parameter[historyRequest]{
	number("limit", 1, maxChanges, func(asked *historyRequest, value int) { asked.limit = value }),
	{
		name: "before", meaning: "a cursor, such as that of an entry",
		set: func(asked *historyRequest, value string) bool {
			asked.before = value
			return strings.Count(value, ".") == 3
		},
	},
}}

var deletedParameters = historyParameters.and("the list of deleted users", parameter[historyRequest]{
	name: "q", meaning: "words in UTF-8, of at most " + strconv.Itoa(maxContains) + " characters",
	set: func(asked *historyRequest, value string) bool {
		asked.text = value
		return strings.TrimSpace(value) != "" && utf8.RuneCountInString(value) <= maxContains
	},
})

// History handles GET and HEAD /api/users/:id/changes: 200, 400, 403, 404, 409, 410 or 500.
func (a *API) History(c *gin.Context) error {
	asked, err := asksForHistory(c, historyParameters)
	if err != nil {
		return err
	}
	who, ok := parseWho(c)
	if !ok {
		return ErrNoUser
	}
	entries, more, err := a.users.History(c.Request.Context(), who, asked.before, cmp.Or(asked.limit, maxHistory))
	if err != nil {
		return err
	}
	linkBefore(c, entries, more)
	return send(c, http.StatusOK, contentType, a.fields.AppendHistory(nil, entries))
}

// Deleted handles GET and HEAD /api/users/deleted: 200, 400, 403, 404, 410 or 500.
func (a *API) Deleted(c *gin.Context) error {
	asked, err := asksForHistory(c, deletedParameters)
	if err != nil {
		return err
	}
	deletions, more, err := a.users.Deleted(c.Request.Context(), asked.text, asked.before, cmp.Or(asked.limit, maxHistory))
	if err != nil {
		return err
	}
	linkBefore(c, deletions, more)
	return send(c, http.StatusOK, contentType, a.fields.AppendDeleted(nil, deletions))
}

func asksForHistory(c *gin.Context, parameters parameters[historyRequest]) (asked historyRequest, err error) {
	if err := fullAccess(c); err != nil {
		return asked, err
	}
	c.Header("Cache-Control", "no-store")
	asked, _, err = parameters.parse(c.Request.URL.RawQuery)
	return asked, err
}

// linkBefore links to the entries before the last of a page.
func linkBefore(c *gin.Context, entries []models.Change, more bool) {
	if !more {
		return
	}
	reference := "?"
	for pair := range strings.SplitSeq(c.Request.URL.RawQuery, "&") {
		if pair != "" && !strings.HasPrefix(pair, "before=") {
			reference += pair + "&"
		}
	}
	before := url.QueryEscape(entries[len(entries)-1].Cursor)
	c.Header("Link", "<"+reference+"before="+before+`>; rel="next"`)
}

// Restore handles POST /api/users/:id/restore: 201, 400, 403, 404, 409 or 500.
func (a *API) Restore(c *gin.Context) error {
	id, ok := ParseID(c.Param("id"))
	sent := sentChange{sentUser: sentUser{fields: a.settable}, all: a.fields}
	if err := c.ShouldBindWith(&sent, OneObject{}); err != nil {
		return err
	}
	if !ok {
		return errNotDeleted
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
		return ErrNoUser
	}
	id, err := a.users.Erase(c.Request.Context(), who)
	if err != nil {
		return err
	}
	c.Set(LoggedWrite, slog.Int64("user", id))
	c.Status(http.StatusNoContent)
	return nil
}
