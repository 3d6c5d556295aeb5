package controllers

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"users-api/headers"
	"users-api/models"
)

const eventStream = "text/event-stream"

// heartbeat is how often a stream without changes has a comment: proxies close connections on which nothing moves.
const heartbeat = 15 * time.Second

// wantsEvents reports whether a client prefers a stream to JSON. If it accepts both alike, JSON comes from every server.
func wantsEvents(c *gin.Context) bool {
	accept := c.Request.Header.Values("Accept")
	events, _ := headers.Quality(accept, eventStream)
	json, _ := headers.Quality(accept, "application/json")
	return events > json
}

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
			changes, err = f.await(ctx, changes.Next, asked.Limit, heartbeat)
		}
	}
	if errors.Is(err, models.ErrNoFeed) || errors.Is(err, models.ErrCursorGone) {
		return nil // the client connects again, and is told
	}
	return err
}

// sendEvents sends changes as events, or a comment if there are none.
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
	return flush(c)
}

// flush sends what has been written. Gin's Flush hides the error, which says that the client was too slow.
func flush(c *gin.Context) error {
	writer := c.Writer.(interface{ Unwrap() http.ResponseWriter })
	return http.NewResponseController(writer.Unwrap()).Flush()
}
