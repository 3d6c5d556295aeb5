package program

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// Conn is a connection to the program on which a test writes bytes of its own, for what an HTTP client cannot send.
type Conn struct {
	net.Conn
	t      testing.TB
	reader *bufio.Reader
}

// Dial connects to the program.
func (p *Program) Dial(t testing.TB) *Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return &Conn{conn, t, bufio.NewReader(conn)}
}

// Send writes a formatted text. That the program has closed the connection is found out by reading.
func (c *Conn) Send(format string, values ...any) { _, _ = fmt.Fprintf(c.Conn, format, values...) }

// Expect reads lines until one is the given.
func (c *Conn) Expect(line string) {
	c.t.Helper()
	for {
		got, err := c.reader.ReadString('\n')
		if got == line {
			return
		}
		if err != nil {
			c.t.Fatalf("waiting for %q: %v", line, err)
		}
	}
}

// Rest reads until the program closes the connection, and returns what it read and whether it was closed in time.
func (c *Conn) Rest() (text string, closed bool) {
	data, err := io.ReadAll(c.reader)
	return string(data), !errors.Is(err, os.ErrDeadlineExceeded)
}

// Answer reads an HTTP answer; its status is 0 when none came.
func (c *Conn) Answer() Answer {
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return Answer{}
	}
	defer response.Body.Close() //nolint:errcheck // it is read to its end
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return Answer{}
	}
	return Answer{response.StatusCode, response.Header, string(body)}
}
