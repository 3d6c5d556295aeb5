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
	c := &conn{TCPConn: accepted.(*net.TCPConn), period: l.limits.behind / 4, checked: time.Now(), cut: l.cut}
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
	pace     pace
	period   time.Duration // how long a write waits before the client's pace is checked
	checked  time.Time     // when that was done last
	due      int           // bytes that were sent by then
	sent     int           // bytes that this system took from us
	taken    int           // bytes of these that the client's system had taken when it was checked
	cut      context.Context
	forget   func() bool
	isFilled bool // what net/http writes next is a full buffer, and more follows
	held     []byte
}

// Write writes all of data, unless the client is too slow. It sends a full buffer of net/http together with what
// follows. It waits for a period at a time, and then checks how much the client's system has taken meanwhile. It also
// checks before: a client that has vanished takes nothing, although small writes go on to find space here.
func (c *conn) Write(data []byte) (int, error) {
	if c.isFilled && c.held == nil && len(data) == httpBuffer {
		c.held = bytes.Clone(data) // net/http uses its buffer again
		return len(data), nil
	}
	unwritten, written := net.Buffers{c.held, data}, -len(c.held)
	c.held = nil
	now := time.Now()
	isTooSlow := now.Sub(c.checked) >= c.period && c.isTooSlow(now, false)
	for !isTooSlow {
		if err := c.SetWriteDeadline(now.Add(c.period)); err != nil {
			return max(0, written), err
		}
		n, err := unwritten.WriteTo(c.TCPConn)
		written += int(n)
		c.sent += int(n)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return max(0, written), err
		}
		now = time.Now()
		isTooSlow = c.isTooSlow(now, true)
	}
	_ = c.SetLinger(0) // discard what the client has not taken
	return max(0, written), os.ErrDeadlineExceeded
}

// isTooSlow reports whether the client has no time to spare. The time since the last check counts if it kept a write
// waiting, or if it has not even taken what was sent before that check. A period counts at most, because the process
// may have been suspended meanwhile.
func (c *conn) isTooSlow(now time.Time, hasWaited bool) bool {
	taken := c.sent - unsent(c.TCPConn)
	c.pace.moved(taken - c.taken)
	if hasWaited || taken < c.due {
		c.pace.spare -= min(now.Sub(c.checked), c.period)
	}
	c.checked, c.due, c.taken = now, c.sent, taken
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

// coalesce sends the headers of a long response together with its body. net/http fills its buffer with the headers and
// the first bytes of the body, and sends it by a system call of its own. Without that call, a sixth more pages are sent
// per second.
func coalesce(c *gin.Context) {
	if conn, ok := c.Request.Context().Value(connKey{}).(*conn); ok {
		c.Writer = &coalescing{c.Writer, conn}
	}
}

// coalescing is a response that tells its connection when more follows what net/http writes. A buffer is only written
// when it is full and something is left, so another write always comes. What does not go through the buffer is longer
// than it.
type coalescing struct {
	gin.ResponseWriter
	conn *conn
}

func (w *coalescing) Write(data []byte) (int, error) {
	w.conn.isFilled = len(data) >= httpBuffer
	defer func() { w.conn.isFilled = false }()
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
