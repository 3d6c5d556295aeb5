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

// How requests begin that a test writes itself.
const (
	PostUsers  = "POST /api/users HTTP/1.1\r\nHost: x\r\n"
	PostChunks = PostUsers + "Transfer-Encoding: chunked\r\n\r\n"
)

// Conn is a connection on which a test writes its own bytes, for requests that an HTTP client cannot send.
type Conn struct {
	net.Conn
	t      testing.TB
	reader *bufio.Reader
}

func (p *Program) Dial(t testing.TB) *Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
	Must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &Conn{conn, t, bufio.NewReader(patient{conn})}
}

// BeginRequest sends what stands before the body of a request, and returns once the program waits for the body. The request is
// a line such as "POST /api/users".
func (p *Program) BeginRequest(t testing.TB, request, body string) *Conn {
	t.Helper()
	conn := p.Dial(t)
	conn.Send("%s HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", request, len(body))
	conn.Expect("HTTP/1.1 100 Continue\r\n")
	conn.Expect("\r\n")
	return conn
}

// patient waits for each read, and not for longer than [Patience].
type patient struct{ net.Conn }

func (p patient) Read(into []byte) (int, error) {
	if err := p.SetReadDeadline(time.Now().Add(Patience)); err != nil {
		return 0, err
	}
	return p.Conn.Read(into)
}

// Send writes a formatted text. Reading tells whether the program has closed the connection.
func (c *Conn) Send(format string, values ...any) { _, _ = fmt.Fprintf(c.Conn, format, values...) }

// Begin waits for the first byte of an answer, and leaves it to be read.
func (c *Conn) Begin() {
	c.t.Helper()
	if _, err := c.reader.Peek(1); err != nil {
		c.t.Fatalf("no answer came: %v", err)
	}
}

// Buffer sets how much of an answer the kernel takes from the program before the test reads it.
func (c *Conn) Buffer(bytes int) {
	c.t.Helper()
	Must(c.t, c.Conn.(*net.TCPConn).SetReadBuffer(bytes))
}

// Expect reads lines until it finds this one.
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

// Rest reads until the program closes the connection, and returns what it read and whether the end was a clean one:
// a reset is not.
func (c *Conn) Rest() (text string, clean bool) {
	c.t.Helper()
	data, err := io.ReadAll(c.reader)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("the connection is not closed after %.500q", data)
	}
	return WithoutOwn(string(data)), err == nil
}

// Answers reads HTTP answers until the program closes the connection.
func (c *Conn) Answers() (answers []Answer) {
	c.t.Helper()
	for {
		answer, err := c.read()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			c.t.Fatalf("the connection is not closed after %.500v", answers)
		}
		if err != nil {
			return answers
		}
		answers = append(answers, answer)
	}
}

// Answer reads one HTTP answer; its status is 0 when none came.
func (c *Conn) Answer() Answer {
	answer, err := c.read()
	if err != nil {
		return Answer{}
	}
	return answer
}

func (c *Conn) read() (Answer, error) {
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return Answer{}, err
	}
	answer, err := readAnswer(response)
	return answer.withoutOwn(), err
}
