package routes

import (
	"cmp"
	"context"
	"io"
	"math"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"golang.org/x/sync/semaphore"

	"users-api/controllers"
	"users-api/database"
)

// bodies limits what requests may hold: a body has limited time to arrive, and only a few bodies at once may be large.
// Without these limits, 1,000 connections that each held back the last byte of 1 MiB took 1.1 GiB.
type bodies struct {
	limits  limits
	large   *semaphore.Weighted // one slot per large body, taken when it turns out to be large
	batches *semaphore.Weighted // one slot per batch, taken with its first byte: a small one may have large answers
	imports *semaphore.Weighted // one slot per file that is imported

	readBatches, dryRuns *semaphore.Weighted // the same for whoever may only read: they cannot block others
}

func newBodies(l limits) *bodies {
	return &bodies{
		limits: l, large: semaphore.NewWeighted(l.largeBodies), batches: semaphore.NewWeighted(l.batches),
		imports:     semaphore.NewWeighted(l.imports),
		readBatches: semaphore.NewWeighted(l.readBatches), dryRuns: semaphore.NewWeighted(l.dryRuns),
	}
}

// receive sets the deadline for the body of a request before anything can refuse the request, because net/http reads
// what a handler leaves unread. net/http removes the deadline at the end of the body.
//
// A response that is sent before the body has arrived closes the connection. Otherwise net/http would first wait for
// the body, and a client that sends none would not get a byte of the response. It also closes the connection of a
// request whose end another program may see in a different place, so that nothing hidden behind it is executed.
// net/http removes the Content-Length of a request that also has a Transfer-Encoding, and the Transfer-Encoding of an
// HTTP/1.0 request, before a handler can see both (RFC 9112, section 6.3).
func (b *bodies) receive(c *gin.Context) {
	if c.Request.ContentLength == 0 { // -1 means chunked
		return
	}
	_ = http.NewResponseController(c.Writer).SetReadDeadline(time.Now().Add(b.limits.body))
	c.Header("Connection", "close")
	if len(c.Request.TransferEncoding) == 0 && c.Request.ProtoAtLeast(1, 1) {
		c.Request.Body = &keepAlive{c.Request.Body, c.Writer.Header()}
	}
}

// keepAlive is a request body that allows its connection to be reused once all of the body has arrived.
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

// admit applies the limits to a body, which takes one of some slots once it is no longer small. It comes after everything
// that refuses requests, so that a client without access takes no slot. Some slots are for whoever may only read.
func (b *bodies) admit(slots, reading *semaphore.Weighted, small int) gin.HandlerFunc {
	return func(c *gin.Context) {
		slots := slots
		if database.MayOnlyRead(c.Request.Context()) {
			slots = reading
		}
		deadline := time.Now().Add(b.limits.body)
		body := &body{
			ReadCloser: c.Request.Body, slots: slots, small: small, client: c.Request.Context(), deadline: deadline,
		}
		c.Request.Body = body
		defer body.release() // what was parsed from the body is as large, until the response is sent or the handler closes it
		c.Next()
	}
}

// body is a request body that waits for a slot before it grows large.
type body struct {
	io.ReadCloser
	slots    *semaphore.Weighted
	small    int // how many bytes it may have without a slot
	client   context.Context
	deadline time.Time
	read     int
	admitted bool
}

// Close frees the slot: the handler needs nothing of the body any more.
func (b *body) Close() error {
	b.release()
	return b.ReadCloser.Close()
}

func (b *body) release() {
	if b.admitted {
		b.slots.Release(1)
	}
	b.admitted, b.small = false, math.MaxInt-1 // what is left of the body is read away
}

const smallBody = 16 << 10 // bytes

func (b *body) Read(into []byte) (int, error) {
	if !b.admitted && b.read > b.small {
		inTime, cancel := context.WithDeadline(b.client, b.deadline)
		defer cancel()
		if b.slots.Acquire(inTime, 1) != nil {
			return 0, cmp.Or[error](b.client.Err(), controllers.ErrBusy)
		}
		b.admitted = true
	}
	if !b.admitted {
		into = into[:min(len(into), b.small+1-b.read)]
	}
	n, err := b.ReadCloser.Read(into)
	b.read += n
	return n, err
}

// admitFile applies the limits to a file that is imported. It has no limit on its total time, but it must keep its
// pace. It is stored on disk while it arrives, so only a few files may arrive at once.
func (b *bodies) admitFile(c *gin.Context) {
	if c.Request.ContentLength == 0 {
		return // net/http would not remove the deadline
	}
	slots := b.imports
	if database.MayOnlyRead(c.Request.Context()) {
		slots = b.dryRuns
	}
	if !slots.TryAcquire(1) {
		controllers.Refuse(c, controllers.ErrBusyImports)
		return
	}
	defer slots.Release(1)
	setDeadline := http.NewResponseController(c.Writer).SetReadDeadline
	c.Request.Body = &upload{c.Request.Body, pace{setDeadline: setDeadline, limit: b.limits.behind}}
	c.Next()
}

// upload is a request body that a client must bring at its pace.
type upload struct {
	io.ReadCloser
	pace pace
}

func (u *upload) Read(into []byte) (int, error) {
	return u.pace.move(func() (int, error) { return u.ReadCloser.Read(into) })
}
