package routes

import (
	"bytes"
	"container/list"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
)

// listener accepts connections that wait for a slow reader while it keeps its pace. net/http's WriteTimeout would cut
// off every list that takes longer, however steadily it is read.
type listener struct {
	net.Listener
	limits limits
	cut    context.Context // ends when all connections are to be cut off
}

func (l listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{TCPConn: accepted.(*net.TCPConn), tick: l.limits.behind / 15, cut: l.cut}
	c.pace = pace{spare: l.limits.behind, most: 2 * l.limits.behind, rate: l.limits.rate}
	c.forget = context.AfterFunc(l.cut, c.reset)
	return c, nil
}

// conn is a connection that is reset if its client takes too little of what is written.
//
// The pace of a reader is that of its system, which takes a lot at once and then nothing until it has space again: over
// loopback, a client that reads 1 KiB/s takes 64 KiB every 64 s, so one minute to spare would not be enough.
type conn struct {
	*net.TCPConn
	pace        pace
	tick        time.Duration
	sent, taken int       // bytes that this system took from us, and bytes that the client's system took
	counted     time.Time // until when time has counted against the client
	due         int       // bytes that were sent by then, which the client should have taken since
	cut         context.Context
	forget      func() bool
	begun       bool // something of the response under way was written
	more        bool // more of it follows at once
	held        []byte
	parts       [2][]byte
	unwritten   net.Buffers // of parts
}

// Write writes all of data, unless the client is too slow. It holds the beginning of a long response back, and sends it with
// what follows.
func (c *conn) Write(data []byte) (int, error) {
	isFirst := !c.begun
	c.begun = true
	if isFirst && c.more {
		c.held = bytes.Clone(data) // net/http uses its buffer again
		return len(data), nil
	}
	held := len(c.held)
	c.parts = [2][]byte{c.held, data}
	c.held, c.unwritten = nil, c.parts[:]
	written, err := c.write()
	return max(0, written-held), err
}

// write writes what is unwritten. The kernel does not report when a byte was taken, so each tick tries again and checks. A tick
// counts for no more than its length: the process may have been suspended meanwhile.
func (c *conn) write() (written int, err error) {
	began := time.Now()
	for isLate := c.isIdleTooLong(began); !isLate; isLate = c.isTooSlow() {
		if err := c.SetWriteDeadline(began.Add(c.tick)); err != nil {
			return written, err
		}
		n, err := c.unwritten.WriteTo(c.TCPConn)
		written += int(n)
		c.sent += int(n)
		took := time.Since(began)
		c.pace.spare -= min(took, c.tick)
		c.counted = c.counted.Add(took)
		began = began.Add(took)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return written, err
		}
	}
	_ = c.SetLinger(0) // discard what the client has not taken
	return written, os.ErrDeadlineExceeded
}

// isIdleTooLong counts the time since the last write against a client that has not taken what was sent before it, and reports
// whether it has no time to spare. A client that has vanished takes nothing, although small writes go on to find space here.
// A pause counts for four ticks at most, because the process may have been suspended.
func (c *conn) isIdleTooLong(now time.Time) bool {
	pause := now.Sub(c.counted)
	if pause < c.tick {
		return false
	}
	isBehind := c.sent > 0 && c.sent-unsent(c.TCPConn) < c.due
	c.counted, c.due = now, c.sent
	if !isBehind {
		return false
	}
	c.pace.spare -= min(pause, 4*c.tick)
	return c.isTooSlow()
}

// isTooSlow reports whether the client has no time to spare, after counting everything it has taken so far.
func (c *conn) isTooSlow() bool {
	taken := c.sent - unsent(c.TCPConn)
	c.pace.moved(taken - c.taken)
	c.taken = taken
	return c.pace.spare <= 0
}

// pace is how long a client may still keep us waiting. It starts with some time to spare, each KiB earns a second more,
// and there is a maximum: a client that keeps taking, or sending, 1 KiB/s is served however long that takes. Time in
// which the client waits for us does not count.
type pace struct {
	spare, most time.Duration
	rate        int // bytes per second
}

func (p *pace) moved(bytes int) {
	earned := time.Duration(float64(bytes) / float64(p.rate) * float64(time.Second))
	p.spare = min(p.spare+earned, p.most)
}

func (c *conn) Close() error {
	c.forget()
	return c.TCPConn.Close()
}

// reset closes the connection so that the other side sees an error instead of a normal end.
func (c *conn) reset() {
	_ = c.SetLinger(0)
	_ = c.Close()
}

type connKey struct{}

func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// isCutOff reports whether the service cut off a request's connection because it is stopping. The end of the connection
// also ends the request's context, and may do so before the service's own context ends with its reason.
func isCutOff(ctx context.Context) bool {
	c, ok := ctx.Value(connKey{}).(*conn)
	return ok && c.cut.Err() != nil
}

func resetLater(ctx context.Context) {
	if c, ok := ctx.Value(connKey{}).(*conn); ok {
		_ = c.SetLinger(0)
	}
}

// httpBuffer is the size of the buffer through which net/http writes to a connection.
const httpBuffer = 4 << 10

// coalesce sends the headers of a long response together with its body. net/http fills its buffer with the headers and the first
// bytes of the body, and sends it by a system call of its own. Without that call, a sixth more pages are sent per second.
func coalesce(c *gin.Context) {
	if conn, ok := c.Request.Context().Value(connKey{}).(*conn); ok {
		conn.begun = false
		c.Writer = &coalescing{c.Writer, conn}
	}
}

// coalescing is a response that tells its connection that more follows what net/http writes first. The buffer is only
// written when it is full and something is left, so another write always comes.
type coalescing struct {
	gin.ResponseWriter
	conn *conn
}

func (w *coalescing) Write(data []byte) (int, error) {
	w.conn.more = len(data) >= httpBuffer
	defer func() { w.conn.more = false }()
	return w.ResponseWriter.Write(data)
}

// Unwrap returns the response of net/http, which reports errors that Gin hides.
func (w *coalescing) Unwrap() http.ResponseWriter {
	return w.ResponseWriter.(interface{ Unwrap() http.ResponseWriter }).Unwrap()
}

// connections closes the connection that has been idle longest if there are more than most. 10,000 idle connections
// took 145 MB, which kept the garbage collector busy.
type connections struct {
	most int
	mu   sync.Mutex
	open map[net.Conn]*list.Element // its place in idle; nil while it is busy
	idle list.List                  // of net.Conn, longest idle first
}

func newConnections(most int) *connections {
	return &connections{most: most, open: map[net.Conn]*list.Element{}}
}

// note is the server's ConnState.
func (c *connections) note(connection net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.open[connection]; at != nil {
		c.idle.Remove(at)
	}
	switch state {
	case http.StateClosed, http.StateHijacked:
		delete(c.open, connection)
	case http.StateIdle:
		c.open[connection] = c.idle.PushBack(connection)
	default:
		c.open[connection] = nil
	}
	if longest := c.idle.Front(); longest != nil && len(c.open) > c.most {
		closed := c.idle.Remove(longest).(net.Conn)
		delete(c.open, closed)
		_ = closed.Close() // the server notices
	}
}
