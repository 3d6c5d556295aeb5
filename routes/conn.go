package routes

import (
	"context"
	"net"
	"net/http"
	"time"
)

// pace is the time in which a client must bring or take paceBytes: 1 KiB/s with the usual limits. Only the time in which
// the service waits for the client counts. net/http's WriteTimeout would cut off every list that takes longer, however
// steadily it is read.
type pace struct {
	setDeadline  func(time.Time) error
	limit, spare time.Duration
	moved        int // bytes since spare was the whole limit
}

const paceBytes = 60 << 10

// move moves bytes by a read or a write that fails once the client has no time to spare.
func (p *pace) move(transfer func() (int, error)) (int, error) {
	began := time.Now()
	_ = p.setDeadline(began.Add(p.spare))
	n, err := transfer()
	p.spare -= time.Since(began)
	if p.moved += n; p.moved >= paceBytes {
		p.spare, p.moved = p.limit, 0
	}
	return n, err
}

// pacedResponse is a response that a client must take at its pace.
type pacedResponse struct {
	http.ResponseWriter
	pace pace
}

func (w *pacedResponse) Write(data []byte) (written int, err error) {
	for err == nil && written < len(data) {
		part, n := data[written:min(len(data), written+paceBytes)], 0
		n, err = w.pace.move(func() (int, error) { return w.ResponseWriter.Write(part) })
		written += n
	}
	return written, err
}

func (w *pacedResponse) FlushError() error {
	_, err := w.pace.move(func() (int, error) { return 0, http.NewResponseController(w.ResponseWriter).Flush() })
	return err
}

func (w *pacedResponse) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// paced lets a client take every response at its pace, and resets the connections of those in progress when all are cut
// off. HTTP/1.0 has no mark of the end of a long response but that of its connection: a reset, unless all was sent.
func (l limits) paced(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		c, setDeadline := connOf(request.Context()), http.NewResponseController(w).SetWriteDeadline
		defer context.AfterFunc(c.cut, c.reset)()
		if !request.ProtoAtLeast(1, 1) {
			c.setLinger(0)
		}
		handler.ServeHTTP(&pacedResponse{w, pace{setDeadline: setDeadline, limit: l.behind, spare: l.behind}}, request)
		if !request.ProtoAtLeast(1, 1) {
			c.setLinger(-1)
		}
		_ = setDeadline(time.Now().Add(l.behind)) // of what net/http has not sent yet
	})
}

// conn is the connection of a request, and a context that ends when all connections are cut off.
type conn struct {
	net.Conn
	cut context.Context
}

type connKey struct{}

// withConn is the server's ConnContext.
func withConn(cut context.Context, c net.Conn) context.Context {
	return context.WithValue(cut, connKey{}, conn{c, cut})
}

func connOf(ctx context.Context) conn { return ctx.Value(connKey{}).(conn) }

func (c conn) setLinger(seconds int) {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(seconds)
	}
}

func (c conn) reset() {
	if c.Conn == nil {
		return
	}
	c.setLinger(0)
	_ = c.Close()
}

// inBatch hands a request of a batch to the handler of all. It has no connection of its own to cut off: the batch says
// instead what has failed.
func inBatch(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		ctx := request.Context()
		handler.ServeHTTP(w, request.WithContext(context.WithValue(ctx, connKey{}, conn{cut: connOf(ctx).cut})))
	})
}
