package commands

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

	"users-api/config"
)

const (
	maxUnwritten = 1 << 20                // bytes: 0.4 s of log at the highest request rate measured
	gatherTime   = 5 * time.Millisecond   // to collect lines for one call; a line that is alone is written at once
	logTime      = 300 * time.Millisecond // to write the last lines for a reader that has stalled
)

// lineLog keeps requests from waiting for the reader of the log: Write appends to a bounded buffer, which another
// goroutine writes out. Lines that find it full or cannot be written are dropped, and counted in the next that can.
type lineLog struct {
	mu             sync.Mutex
	waiting, taken []byte // the goroutine writes what it has taken; then that memory is used again
	dropped        int
	filled         chan struct{} // has an element when lines wait
}

// newLog returns a logger that writes to out, and what must be called before the process ends.
func newLog(out io.Writer, settings config.Config) (logger *slog.Logger, flush func()) {
	l, ended := &lineLog{filled: make(chan struct{}, 1)}, make(chan struct{})
	ending, end := context.WithCancel(context.Background())
	go func() {
		defer close(ended)
		for ending.Err() == nil {
			select {
			case <-l.filled:
			case <-ending.Done():
			}
			l.writeOut(out, settings)
			select {
			case <-time.After(gatherTime):
			case <-ending.Done():
			}
		}
		l.writeOut(out, settings) // what has come since
	}()
	return slog.New(newHandler(l, settings)), func() {
		end()
		select {
		case <-ended:
		case <-time.After(logTime):
		}
	}
}

func newHandler(out io.Writer, settings config.Config) slog.Handler {
	options := &slog.HandlerOptions{Level: settings.LogLevel}
	if settings.LogFormat == "json" {
		return slog.NewJSONHandler(out, options)
	}
	return slog.NewTextHandler(out, options)
}

func (l *lineLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting)+len(line) > maxUnwritten {
		l.dropped++
		return len(line), nil
	}
	l.waiting = append(l.waiting, line...)
	select {
	case l.filled <- struct{}{}:
	default:
	}
	return len(line), nil
}

func (l *lineLog) writeOut(out io.Writer, settings config.Config) {
	l.mu.Lock()
	l.waiting, l.taken = l.taken[:0], l.waiting
	dropped := l.dropped
	l.dropped = 0
	l.mu.Unlock()
	text, lines := bytes.NewBuffer(l.taken), bytes.Count(l.taken, []byte("\n"))
	if dropped > 0 {
		slog.New(newHandler(text, settings)).Warn("log lines were dropped", "count", dropped)
	}
	if n, err := out.Write(text.Bytes()); err != nil {
		l.mu.Lock()
		l.dropped += dropped + max(0, lines-bytes.Count(text.Bytes()[:n], []byte("\n")))
		l.mu.Unlock()
	}
}
