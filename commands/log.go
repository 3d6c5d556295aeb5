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
	// maxUnwritten is how many bytes of the log wait in memory for a reader that has stalled: 0.4 s of the most
	// requests that were measured.
	maxUnwritten = 1 << 20
	// gatherTime is how long lines are gathered to be written with one call. A line that comes alone does not wait.
	gatherTime = 5 * time.Millisecond
)

// lineLog writes the log without ever holding up whoever logs. Write puts a line into a bounded buffer, and one
// goroutine writes the buffer out. Lines that find it full are dropped and counted, and so are those that cannot be
// written because their reader is gone; the count is logged as soon as lines can be written again.
type lineLog struct {
	out    io.Writer
	direct slog.Handler // formats the count and writes it to out, past the buffer
	gather time.Duration

	mu      sync.Mutex
	lines   []byte // accepted, not yet taken by the goroutine
	spare   []byte // what the goroutine has written out, to be filled again
	dropped int

	filled chan struct{} // has an element when there are lines
	hurry  chan struct{} // has an element when they must not be gathered any longer
	ending chan struct{} // closed by close
	ended  chan struct{} // closed when the last line was written
}

// newLog returns a logger that writes to out in the format and from the level of the settings, and its log, which
// must be closed before the process ends.
func newLog(out io.Writer, settings config.Config, gather time.Duration) (*slog.Logger, *lineLog) {
	l := &lineLog{
		out: out, direct: newHandler(out, settings), gather: gather,
		filled: make(chan struct{}, 1), hurry: make(chan struct{}, 1),
		ending: make(chan struct{}), ended: make(chan struct{}),
	}
	go l.writeOut()
	return slog.New(hurried{newHandler(l, settings), l}), l
}

func newHandler(out io.Writer, settings config.Config) slog.Handler {
	options := &slog.HandlerOptions{Level: settings.LogLevel}
	if settings.LogFormat == "json" {
		return slog.NewJSONHandler(out, options)
	}
	return slog.NewTextHandler(out, options)
}

// Write accepts one line, or drops it. It never waits and never fails.
func (l *lineLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines)+len(line) > maxUnwritten {
		l.dropped++
		return len(line), nil
	}
	l.lines = append(l.lines, line...)
	notify(l.filled)
	return len(line), nil
}

// close waits until the accepted lines are written, but no longer than the time given: nobody may be reading.
func (l *lineLog) close(within time.Duration) {
	close(l.ending)
	select {
	case <-l.ended:
	case <-time.After(within):
	}
}

// writeOut runs in the goroutine that writes, until the log is closed.
func (l *lineLog) writeOut() {
	defer close(l.ended)
	for {
		select {
		case <-l.filled:
			l.writeLines()
		case <-l.ending:
			l.writeLines()
			return
		}
		select { // the next lines wait for each other
		case <-time.After(l.gather):
		case <-l.hurry:
		case <-l.ending:
		}
	}
}

// writeLines writes what was accepted until now, then how many lines were dropped.
func (l *lineLog) writeLines() {
	lines, dropped := l.take()
	if n, err := l.out.Write(lines); err != nil {
		l.drop(lines, dropped+bytes.Count(lines[n:], []byte("\n")))
		return
	}
	if dropped > 0 {
		count := slog.NewRecord(time.Now(), slog.LevelWarn, "log lines were dropped", 0)
		count.AddAttrs(slog.Int("count", dropped))
		if l.direct.Handle(context.Background(), count) == nil {
			dropped = 0
		}
	}
	l.drop(lines, dropped)
}

func (l *lineLog) take() (lines []byte, dropped int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines, dropped = l.lines, l.dropped
	l.lines, l.dropped = l.spare[:0], 0
	return lines, dropped
}

// drop gives the memory of lines back, and counts lines that nobody will see.
func (l *lineLog) drop(lines []byte, count int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spare = lines
	l.dropped += count
}

// hurried is a handler whose warnings and errors are not gathered: what comes next may be the end of the process.
type hurried struct {
	slog.Handler
	log *lineLog
}

func (h hurried) Handle(ctx context.Context, record slog.Record) error {
	err := h.Handler.Handle(ctx, record)
	if record.Level >= slog.LevelWarn {
		notify(h.log.hurry)
	}
	return err
}

func (h hurried) WithAttrs(attributes []slog.Attr) slog.Handler {
	return hurried{h.Handler.WithAttrs(attributes), h.log}
}

func (h hurried) WithGroup(name string) slog.Handler {
	return hurried{h.Handler.WithGroup(name), h.log}
}

// notify leaves one element in a channel of capacity 1.
func notify(channel chan struct{}) {
	select {
	case channel <- struct{}{}:
	default:
	}
}
