package controllers

import (
	"cmp"
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"users-api/database"
	"users-api/models"
)

// Feed handles the feed of changes, for clients that keep a copy.
type Feed struct {
	Users   *database.Users
	Fields  models.Fields
	Stop    context.Context // ends when the service stops: no client waits any longer
	waiting atomic.Int64
}

// maxWaiting is how many clients can wait for changes at once.
const maxWaiting = 64

// maxChanges is how many changes a response has at most.
const maxChanges = 1000

// changesRequest is what the parameters of GET /api/changes ask for.
type changesRequest struct {
	cursor string
	limit  int
	wait   time.Duration
}

var changesParameters = parameters[changesRequest]{"the feed of changes", []parameter[changesRequest]{
	{name: "after", meaning: "a cursor, such as next of a response", set: func(asked *changesRequest, value string) bool {
		asked.cursor = value
		return value != ""
	}},
	number("limit", 1, maxChanges, func(asked *changesRequest, value int) { asked.limit = value }),
	number("wait", 0, 60, func(asked *changesRequest, value int) { asked.wait = time.Duration(value) * time.Second }),
}}

// Get handles GET and HEAD /api/changes: 200, 400, 404, 410, 500 or 503.
func (f *Feed) Get(c *gin.Context) error {
	asked, _, err := changesParameters.parse(c.Request.URL.RawQuery)
	if err != nil {
		return err
	}
	ctx, limit := c.Request.Context(), cmp.Or(asked.limit, maxChanges)
	changes, err := f.Users.Changes(ctx, asked.cursor, limit)
	if err == nil && len(changes.Entries) == 0 && asked.wait > 0 {
		defer f.waiting.Add(-1)
		if f.waiting.Add(1) > maxWaiting {
			return errWaiting
		}
		changes, err = f.await(ctx, changes.Next, limit, asked.wait)
	}
	if err != nil {
		return err
	}
	c.Header("Cache-Control", "no-store")
	return send(c, http.StatusOK, contentType, f.Fields.AppendChanges(nil, changes, !database.MayOnlyRead(c.Request.Context())))
}

// await returns the changes after a cursor as soon as there are any, and none if the time is over or the service stops.
func (f *Feed) await(ctx context.Context, cursor string, limit int, wait time.Duration) (models.Changes, error) {
	deadline := time.Now().Add(wait)
	limited, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	defer context.AfterFunc(f.Stop, cancel)()
	changes := models.Changes{Next: cursor}
	for len(changes.Entries) == 0 {
		err := f.Users.AwaitChanges(limited, changes.Next)
		// Storage may notice the deadline a moment before the context does.
		if isOver := limited.Err() != nil || !time.Now().Before(deadline); isOver && ctx.Err() == nil {
			return changes, nil
		}
		if err == nil {
			changes, err = f.Users.Changes(ctx, changes.Next, limit)
		}
		if err != nil {
			return changes, err
		}
	}
	return changes, nil
}

// Waiting returns how many clients wait for changes.
func (f *Feed) Waiting() int64 { return f.waiting.Load() }
