package controllers

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"users-api/database"
	"users-api/models"
)

const (
	maxWaiting = 64   // clients that wait for changes at once
	maxChanges = 1000 // entries in a response
)

var changesParameters = parameters{"the feed of changes", []parameter{
	text("after", "a cursor, such as next of a response", isGiven),
	number("limit", 1, maxChanges),
	number("wait", 0, 60),
}}

// Changes handles GET and HEAD /api/changes, for clients that keep a copy: 200, 400, 404, 410, 500 or 503.
func (a *API) Changes(c *gin.Context) error {
	sent, err := changesParameters.parse(c.Request.URL.RawQuery)
	if err != nil {
		return err
	}
	ctx, limit, wait := c.Request.Context(), meant(sent, "limit", maxChanges), meant(sent, "wait", 0)
	changes, err := a.users.Changes(ctx, meant(sent, "after", ""), limit)
	if err == nil && len(changes.Entries) == 0 && wait > 0 {
		defer a.waiting.Add(-1)
		if a.waiting.Add(1) > maxWaiting {
			return errWaiting
		}
		changes, err = a.await(ctx, changes.Next, limit, time.Duration(wait)*time.Second)
	}
	if err != nil {
		return err
	}
	c.Header("Cache-Control", "no-store")
	return send(c, http.StatusOK, contentType, a.fields.AppendChanges(nil, changes, !database.MayOnlyRead(ctx)))
}

// await returns the changes after a cursor as soon as there are any, and none if the time is over or the service stops.
func (a *API) await(ctx context.Context, cursor string, limit int, wait time.Duration) (models.Changes, error) {
	deadline := time.Now().Add(wait)
	limited, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	defer context.AfterFunc(a.stop, cancel)()
	changes := models.Changes{Next: cursor}
	for len(changes.Entries) == 0 {
		err := a.users.AwaitChanges(limited, changes.Next)
		// Storage may notice the deadline a moment before the context does.
		if isOver := limited.Err() != nil || !time.Now().Before(deadline); isOver && ctx.Err() == nil {
			return changes, nil
		}
		if err == nil {
			changes, err = a.users.Changes(ctx, changes.Next, limit)
		}
		if err != nil {
			return changes, err
		}
	}
	return changes, nil
}

// Waiting returns how many clients wait for changes.
func (a *API) Waiting() int64 { return a.waiting.Load() }
