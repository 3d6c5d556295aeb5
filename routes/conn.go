package routes

import (
	"context"
	"errors"
	"net"
	"os"
	"time"
)

// listener accepts connections that wait for a slow reader for as long as it takes any byte, and give up on one that
// has stopped. net/http's WriteTimeout would cut off every list that takes longer, however steadily it is read.
type listener struct {
	net.Listener
	stall time.Duration
	cut   context.Context // ends when every connection is to be cut off
}

func (l listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{TCPConn: accepted.(*net.TCPConn), stall: l.stall}
	c.forget = context.AfterFunc(l.cut, c.reset)
	return c, nil
}

type conn struct {
	*net.TCPConn
	stall  time.Duration
	forget func() bool
}

// Write writes all of data, unless the other side takes none of it for the time of a stall. The kernel does not tell
// when a byte was taken, so each tick tries again and sees.
func (c *conn) Write(data []byte) (written int, err error) {
	const ticks = 6
	for idle := 0; idle < ticks; idle++ {
		if err := c.SetWriteDeadline(time.Now().Add(c.stall / ticks)); err != nil {
			return written, err
		}
		n, err := c.TCPConn.Write(data[written:])
		written += n
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return written, err
		}
		if n > 0 {
			idle = 0
		}
	}
	_ = c.SetLinger(0) // what it has not taken is not kept for it
	return written, os.ErrDeadlineExceeded
}

func (c *conn) Close() error {
	c.forget()
	return c.TCPConn.Close()
}

// reset closes the connection so that the other side sees an error, and not an end.
func (c *conn) reset() {
	_ = c.SetLinger(0)
	_ = c.Close()
}

type connKey struct{}

// withConn lets the handlers of a connection's requests find it.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// resetLater makes the end of a request's connection a reset.
func resetLater(ctx context.Context) {
	if c, ok := ctx.Value(connKey{}).(*conn); ok {
		_ = c.SetLinger(0)
	}
}
