package routes

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"golang.org/x/sync/semaphore"

	"users-api/controllers"
)

// bodies bounds what requests may hold: a body has a time to arrive, and only a few at once may be large. 1,000
// connections that each kept the last byte of 1 MiB back took 1.1 GiB before.
type bodies struct {
	limits  limits
	large   *semaphore.Weighted // one for each large body, taken when it turns out to be large
	imports *semaphore.Weighted // one for each file that is imported
	dryRuns *semaphore.Weighted // likewise, for keys that can only read: they cannot lock out an import
}

func newBodies(l limits) *bodies {
	return &bodies{
		limits: l, large: semaphore.NewWeighted(l.largeBodies),
		imports: semaphore.NewWeighted(l.imports), dryRuns: semaphore.NewWeighted(l.dryRuns),
	}
}

// receive sets the time that the body of a request has, before anything can refuse the request: net/http reads what a
// handler leaves unread. It ends with the body: net/http removes it there.
//
// A response that is sent before the body has arrived closes the connection. Otherwise net/http would first wait for
// the body, and a client that sends none would get no byte of the response.
func (b *bodies) receive(c *gin.Context) {
	if c.Request.ContentLength == 0 { // -1 is for chunks
		return
	}
	_ = http.NewResponseController(c.Writer).SetReadDeadline(time.Now().Add(b.limits.body))
	c.Header("Connection", "close")
	if !hasUnclearEnd(c.Request) {
		c.Request.Body = &keepAlive{c.Request.Body, c.Writer.Header()}
	}
}

// keepAlive is a request body that lets its connection be used again once all of it has arrived.
type keepAlive struct {
	io.ReadCloser
	response http.Header
}

func (k *keepAlive) Read(into []byte) (int, error) {
	n, err := k.ReadCloser.Read(into)
	if err == io.EOF {
		k.response.Del("Connection")
	}
	return n, err
}

// hasUnclearEnd reports whether another program may see the end of a request elsewhere. Then its connection is closed,
// so that nothing hidden behind it is carried out: net/http takes the Content-Length off a request that also has a
// Transfer-Encoding, and the Transfer-Encoding off one of HTTP/1.0, before a handler can see both (RFC 9112, section
// 6.3).
func hasUnclearEnd(request *http.Request) bool {
	old := !request.ProtoAtLeast(1, 1)
	return len(request.TransferEncoding) > 0 || old && request.ContentLength != 0
}

// admit gives a body what it needs of the service. It comes after everything that refuses requests, so that a client
// without access takes no slot.
func (b *bodies) admit(c *gin.Context) {
	switch {
	case c.Request.ContentLength == 0:
	case bringsFile(c.Request):
		b.admitFile(c)
	default:
		deadline := time.Now().Add(b.limits.body)
		body := &body{ReadCloser: c.Request.Body, slots: b.large, request: c.Request, deadline: deadline}
		c.Request.Body = body
		defer body.leave() // what was made of the body is as large, until the response was sent
		c.Next()
	}
}

// body is a request body that waits for a slot before it grows large.
type body struct {
	io.ReadCloser
	slots    *semaphore.Weighted
	request  *http.Request
	deadline time.Time
	read     int
	admitted bool
}

// smallBody is how many bytes a body may have without a slot.
const smallBody = 16 << 10

func (b *body) Read(into []byte) (int, error) {
	if !b.admitted && b.read > smallBody {
		if err := b.wait(); err != nil {
			return 0, err
		}
	}
	if !b.admitted {
		into = into[:min(len(into), smallBody+1-b.read)]
	}
	n, err := b.ReadCloser.Read(into)
	b.read += n
	return n, err
}

// wait waits for a slot for as long as the body may take to arrive.
func (b *body) wait() error {
	inTime, cancel := context.WithDeadline(b.request.Context(), b.deadline)
	defer cancel()
	if b.slots.Acquire(inTime, 1) == nil {
		b.admitted = true
		return nil
	}
	if err := b.request.Context().Err(); err != nil {
		return err
	}
	return controllers.ErrBusy
}

// leave gives the slot to another body.
func (b *body) leave() {
	if b.admitted {
		b.slots.Release(1)
	}
}
