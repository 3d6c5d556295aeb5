package routes

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"time"
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
