package routes

import (
	"io"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"users-api/controllers"
)

// bodies bounds what requests may hold: a body has a time to arrive, and only so many at once may be large. 1,000
// connections that each kept the last byte of 1 MiB back took 1.1 GiB before.
type bodies struct {
	time   time.Duration
	places chan struct{} // one for each large body, taken when it turns out to be large
	files  chan struct{} // one for each file that is imported
}

func newBodies(l limits) *bodies {
	return &bodies{time: l.body, places: make(chan struct{}, l.largeBodies), files: make(chan struct{}, l.imports)}
}

// receive bounds the body of a request. The time holds for what a handler leaves unread too, which net/http reads
// before the next request. It ends with the body: net/http takes it off there.
func (b *bodies) receive(c *gin.Context) {
	if c.Request.ContentLength == 0 { // -1 is for chunks
		return
	}
	if bringsFile(c.Request) {
		b.receiveFile(c)
		return
	}
	body := &body{ReadCloser: c.Request.Body, bodies: b, request: c.Request, deadline: time.Now().Add(b.time)}
	_ = http.NewResponseController(c.Writer).SetReadDeadline(body.deadline)
	c.Request.Body = body
	defer body.leave() // what was made of the body is as large, until the answer was sent
	c.Next()
}

// body is a request body that waits for a place before it grows large.
type body struct {
	io.ReadCloser
	bodies   *bodies
	request  *http.Request
	deadline time.Time
	read     int
	placed   bool
}

// smallBody is how many bytes a body may have without a place.
const smallBody = 16 << 10

func (b *body) Read(into []byte) (int, error) {
	if !b.placed && b.read > smallBody {
		if err := b.wait(); err != nil {
			return 0, err
		}
	}
	if !b.placed {
		into = into[:min(len(into), smallBody+1-b.read)]
	}
	n, err := b.ReadCloser.Read(into)
	b.read += n
	return n, err
}

// wait waits for a place for as long as the body may take to arrive.
func (b *body) wait() error {
	late := time.NewTimer(time.Until(b.deadline))
	defer late.Stop()
	select {
	case b.bodies.places <- struct{}{}:
		b.placed = true
		return nil
	case <-late.C:
		return controllers.ErrBusy
	case <-b.request.Context().Done():
		return b.request.Context().Err()
	}
}

// leave gives the place to another body.
func (b *body) leave() {
	if b.placed {
		<-b.bodies.places
	}
}
