package program

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// Log returns what the program has written to stderr.
func (p *Program) Log() string { return p.log.String() }

// tail returns the end of a log, for a message that must not push the name of its test out of sight.
func tail(log string) string { return log[max(0, len(log)-4000):] }

// WaitForLog returns once the log contains text.
func (p *Program) WaitForLog(t testing.TB, text string) {
	t.Helper()
	p.log.waitFor(t, text)
}

// Line waits for the line of the log that contains text, and returns it.
func (p *Program) Line(t testing.TB, text string) string {
	t.Helper()
	p.log.waitFor(t, text)
	for line := range strings.Lines(p.Log()) {
		if strings.Contains(line, text) {
			return line
		}
	}
	t.Fatalf("%q is not within one line:\n%s", text, tail(p.Log()))
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

func (b *logBuffer) waitFor(t testing.TB, text string) {
	t.Helper()
	deadline, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	context.AfterFunc(deadline, b.changed.Broadcast)
	b.mu.Lock()
	defer b.mu.Unlock()
	for !strings.Contains(b.text.String(), text) {
		if deadline.Err() != nil {
			t.Fatalf("the log never says %q:\n%s", text, tail(b.text.String()))
		}
		b.changed.Wait()
	}
}
