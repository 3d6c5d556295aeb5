package program

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// Log returns what the program has written to stderr.
func (p *Program) Log() string { return p.log.String() }

// tail returns the end of a log, for a message that must not push the name of its test out of sight.
func tail(log string) string { return log[max(0, len(log)-4000):] }

// LogWriter is where a service within the test writes its log.
func (p *Program) LogWriter() io.Writer { return p.log }

// WaitForLog returns once a line of the log contains a text, in which "…" stands for any text.
func (p *Program) WaitForLog(t testing.TB, text string) { t.Helper(); p.Line(t, text) }

// Line is WaitForLog, and returns the line.
func (p *Program) Line(t testing.TB, text string) string {
	t.Helper()
	deadline, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	context.AfterFunc(deadline, p.log.changed.Broadcast)
	p.log.mu.Lock()
	defer p.log.mu.Unlock()
	for deadline.Err() == nil {
		for line := range strings.Lines(p.log.text.String()) {
			if Matches(line, "…"+text+"…") {
				return line
			}
		}
		p.log.changed.Wait()
	}
	t.Fatalf("the log has no line with %q:\n%s", text, tail(p.log.text.String()))
	return ""
}

// logBuffer keeps a log, and finds the line that says where the program listens.
type logBuffer struct {
	mu      sync.Mutex
	changed *sync.Cond
	text    bytes.Buffer
	address chan string
	seen    bool
}

var listening = regexp.MustCompile(`"?address"?[=:]"?http://([^\s"]+):(\d+)`)

func newLogBuffer() *logBuffer {
	b := &logBuffer{address: make(chan string, 1)}
	b.changed = sync.NewCond(&b.mu)
	return b
}

func (b *logBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text.Write(data)
	b.changed.Broadcast()
	if !b.seen {
		if match := listening.FindSubmatch(b.text.Bytes()); match != nil {
			b.seen = true
			b.address <- "http://" + strings.Replace(string(match[1]), "localhost", "127.0.0.1", 1) + ":" + string(match[2])
		}
	}
	return len(data), nil
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
