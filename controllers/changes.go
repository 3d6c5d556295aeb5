package controllers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"users-api/models"
)

// Changes handles the feed of changes, for clients that keep a copy.
type Changes struct {
	users     *models.Users
	fields    models.Fields
	stop      context.Context // ends when the service stops: no client waits any longer
	heartbeat time.Duration   // how often a stream without changes has a comment: proxies close connections on which nothing moves
	waiting   atomic.Int64
}

// maxWaiting is how many clients can wait for changes at once.
const maxWaiting = 64

// NewChanges returns the handler for the feed of a storage, until stop is done.
func NewChanges(stop context.Context, users *models.Users, fields models.Fields, heartbeat time.Duration) *Changes {
	return &Changes{users: users, fields: fields, stop: stop, heartbeat: heartbeat}
}

// maxChanges is how many changes a response has at most.
const maxChanges = 1000

// changesParameters are the parameters of GET /api/changes.
var changesParameters = parameters{"the feed of changes", []parameter{
	{"after", "a cursor, such as next of a response", func(asked *request, value string) bool {
		asked.cursor = value
		return value != ""
	}},
	number("limit", 1, maxChanges, func(asked *request, value int) { asked.Limit = value }),
	number("wait", 0, 60, func(asked *request, value int) { asked.wait = time.Duration(value) * time.Second }),
}}

// Get handles GET and HEAD /api/changes: 200, 400, 404, 410, 500 or 503.
func (f *Changes) Get(c *gin.Context) error {
	asked, err := changesParameters.parse(c.Request.URL.RawQuery)
	if err != nil {
		return err
	}
	if !asked.has("limit") {
		asked.Limit = maxChanges
	}
	if quality(c, eventStream) > quality(c, "application/json") { // a client that accepts both equally gets JSON
		return f.stream(c, asked)
	}
	changes, err := f.read(c.Request.Context(), asked)
	if err != nil {
		return err
	}
	c.Header("Cache-Control", "no-store")
	return send(c, http.StatusOK, contentType, f.fields.AppendChanges(nil, changes))
}

// read returns the next changes. If there are none, it waits for them as long as the request says.
func (f *Changes) read(ctx context.Context, asked request) (models.Changes, error) {
	changes, err := f.users.Changes(ctx, asked.cursor, asked.Limit)
	if err != nil || len(changes.Entries) > 0 || asked.wait == 0 {
		return changes, err
	}
	if !f.enter() {
		return changes, errWaiting
	}
	defer f.leave()
	return f.await(ctx, changes.Next, asked.Limit, asked.wait)
}

// await returns the changes after a cursor as soon as there are any, and none if the time is over or the service stops.
func (f *Changes) await(ctx context.Context, cursor string, limit int, wait time.Duration) (models.Changes, error) {
	deadline := time.Now().Add(wait)
	limited, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	defer context.AfterFunc(f.stop, cancel)()
	changes := models.Changes{Next: cursor}
	for len(changes.Entries) == 0 {
		err := f.users.AwaitChanges(limited, changes.Next)
		// Storage may notice the deadline a moment before the context does.
		if isOver := limited.Err() != nil || !time.Now().Before(deadline); isOver && ctx.Err() == nil {
			return changes, nil
		}
		if err == nil {
			changes, err = f.users.Changes(ctx, changes.Next, limit)
		}
		if err != nil {
			return changes, err
		}
	}
	return changes, nil
}

// enter takes a place among the clients that wait, if there is one, until leave.
func (f *Changes) enter() bool {
	if f.waiting.Add(1) > maxWaiting {
		f.leave()
		return false
	}
	return true
}

func (f *Changes) leave() { f.waiting.Add(-1) }

// Waiting returns how many clients wait for changes.
func (f *Changes) Waiting() int64 { return f.waiting.Load() }

const eventStream = "text/event-stream"

// stream sends changes as Server-Sent Events (html.spec.whatwg.org, section 9.2) until the client goes or the service
// stops. A browser that connects again says with Last-Event-ID where it was.
func (f *Changes) stream(c *gin.Context, asked request) error {
	if last := c.GetHeader("Last-Event-ID"); last != "" {
		asked.cursor = last
	}
	ctx := c.Request.Context()
	changes, err := f.users.Changes(ctx, asked.cursor, asked.Limit)
	if err != nil {
		return err
	}
	if !f.enter() {
		return errWaiting
	}
	defer f.leave()
	c.Header("Content-Type", eventStream)
	c.Header("Cache-Control", "no-store")
	c.Header("X-Accel-Buffering", "no") // nginx would hold events back
	c.Status(http.StatusOK)
	if c.Request.Method == http.MethodHead {
		return nil
	}
	for err == nil && f.stop.Err() == nil {
		err = f.sendEvents(c, changes)
		switch {
		case err != nil:
		case len(changes.Entries) == asked.Limit: // others follow
			changes, err = f.users.Changes(ctx, changes.Next, asked.Limit)
		default:
			changes, err = f.await(ctx, changes.Next, asked.Limit, f.heartbeat)
		}
	}
	if errors.Is(err, models.ErrNoFeed) || errors.Is(err, models.ErrCursorGone) {
		return nil // the client connects again, and is told
	}
	return err
}

// sendEvents sends changes as events, or a comment if there are none. Gin's Flush hides the error, which says that the client
// was too slow.
func (f *Changes) sendEvents(c *gin.Context, changes models.Changes) error {
	var text []byte
	for i := range changes.Entries {
		change := &changes.Entries[i]
		text = fmt.Appendf(text, "id: %s\ndata: ", change.Cursor)
		text = append(f.fields.AppendChange(text, change), "\n\n"...)
	}
	if len(text) == 0 {
		text = []byte(":\n\n")
	}
	if _, err := c.Writer.Write(text); err != nil {
		return err
	}
	return http.NewResponseController(c.Writer.(interface{ Unwrap() http.ResponseWriter }).Unwrap()).Flush()
}
