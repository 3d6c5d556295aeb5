package controllers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"users-api/database"
	"users-api/models"
)

// Feed handles the feed of changes, for clients that keep a copy.
type Feed struct {
	Users     *database.Users
	Fields    models.Fields
	Allows    func(*http.Request) bool // whether the key of a request may still read
	Stop      context.Context          // ends when the service stops: no client waits any longer
	Heartbeat time.Duration            // between two comments of a stream without changes: proxies close silent connections
	waiting   atomic.Int64
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
	limit := cmp.Or(asked.limit, maxChanges)
	ctx, last := c.Request.Context(), c.GetHeader("Last-Event-ID")
	isStream := quality(c, eventStream) > quality(c, "application/json") // a client that accepts both equally gets JSON
	if isStream && last != "" {
		asked.cursor = last // where a browser was that connects again
	}
	changes, err := f.Users.Changes(ctx, asked.cursor, limit)
	if err != nil {
		return err
	}
	waits := len(changes.Entries) == 0 && asked.wait > 0
	if isStream || waits {
		defer f.waiting.Add(-1)
		if f.waiting.Add(1) > maxWaiting {
			return errWaiting
		}
	}
	if isStream {
		return f.stream(c, changes, limit)
	}
	if waits {
		if changes, err = f.await(c.Request, changes.Next, limit, asked.wait); err != nil {
			return err
		}
	}
	c.Header("Cache-Control", "no-store")
	return send(c, http.StatusOK, contentType, f.Fields.AppendChanges(nil, changes))
}

// await returns the changes after a cursor as soon as there are any, and none if the time is over, the service stops, or
// the key was removed meanwhile.
func (f *Feed) await(request *http.Request, cursor string, limit int, wait time.Duration) (models.Changes, error) {
	ctx, deadline := request.Context(), time.Now().Add(wait)
	limited, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	defer context.AfterFunc(f.Stop, cancel)()
	changes := models.Changes{Next: cursor}
	for len(changes.Entries) == 0 {
		err := f.Users.AwaitChanges(limited, changes.Next)
		// Storage may notice the deadline a moment before the context does.
		if isOver := limited.Err() != nil || !time.Now().Before(deadline) || !f.Allows(request); isOver && ctx.Err() == nil {
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

const eventStream = "text/event-stream"

// stream sends changes, and those that follow, as Server-Sent Events (html.spec.whatwg.org, section 9.2) until the
// client goes, its key was removed, the service stops, or it is time to connect again: a client that is gone without a word, or
// that a proxy keeps from another replica, holds its place no longer than that.
func (f *Feed) stream(c *gin.Context, changes models.Changes, limit int) (err error) {
	c.Header("Content-Type", eventStream)
	c.Header("Cache-Control", "no-store")
	c.Header("X-Accel-Buffering", "no") // nginx would hold events back
	c.Status(http.StatusOK)
	if c.Request.Method == http.MethodHead {
		return nil
	}
	const beats = 4
	end := time.Now().Add(beats * f.Heartbeat)
	for err == nil && f.Stop.Err() == nil && f.Allows(c.Request) && time.Now().Before(end) {
		err = f.sendEvents(c, changes)
		switch {
		case err != nil:
		case len(changes.Entries) == limit: // others follow
			changes, err = f.Users.Changes(c.Request.Context(), changes.Next, limit)
		default:
			changes, err = f.await(c.Request, changes.Next, limit, min(f.Heartbeat, time.Until(end)))
		}
	}
	if errors.Is(err, models.ErrNoFeed) || errors.Is(err, models.ErrCursorGone) {
		return nil // the client connects again, and is told
	}
	return err
}

// sendEvents sends changes as events, or a comment if there are none. Gin's Flush hides the error, which says that the
// client was too slow.
func (f *Feed) sendEvents(c *gin.Context, changes models.Changes) error {
	var text []byte
	for i := range changes.Entries {
		change := &changes.Entries[i]
		text = fmt.Appendf(text, "id: %s\ndata: ", change.Cursor)
		text = append(f.Fields.AppendChange(text, change), "\n\n"...)
	}
	if len(text) == 0 {
		text = []byte(":\n\n")
	}
	if _, err := c.Writer.Write(text); err != nil {
		return err
	}
	return http.NewResponseController(c.Writer.(interface{ Unwrap() http.ResponseWriter }).Unwrap()).Flush()
}
