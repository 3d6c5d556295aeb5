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
	// maxUnwritten is how many bytes of the log are buffered for a stalled reader: 0.4 s of log at the highest request
	// rate measured.
	maxUnwritten = 1 << 20
	// gatherTime is how long lines are collected to be written in one call. A single line is written at once.
	gatherTime = 5 * time.Millisecond
)

// lineLog writes the log without ever blocking its callers. Write appends a line to a bounded buffer, and one goroutine
// writes the buffer out. Lines are dropped and counted if the buffer is full, or if they cannot be written because the
// reader is gone. The count is logged as soon as lines can be written again.
type lineLog struct {
	out    io.Writer
	direct slog.Handler // formats the count and writes it to out, bypassing the buffer
	gather time.Duration

	mu      sync.Mutex
	lines   []byte // accepted, but not yet taken by the goroutine
	spare   []byte // those that the goroutine writes; then their memory is used again
	dropped int

	filled chan struct{} // has an element when there are lines
	flush  chan struct{} // has an element when they must be written at once
	ending chan struct{} // closed by close
	ended  chan struct{} // closed once the last line is written
}

// newLog returns a logger that writes to out with the format and level of the settings, and its log, which must be
// closed before the process ends.
func newLog(out io.Writer, settings config.Config, gather time.Duration) (*slog.Logger, *lineLog) {
	l := &lineLog{
		out: out, direct: newHandler(out, settings), gather: gather,
		filled: make(chan struct{}, 1), flush: make(chan struct{}, 1),
		ending: make(chan struct{}), ended: make(chan struct{}),
	}
	go l.writeOut()
	return slog.New(urgent{newHandler(l, settings), l}), l
}

func newHandler(out io.Writer, settings config.Config) slog.Handler {
	options := &slog.HandlerOptions{Level: settings.LogLevel}
	if settings.LogFormat == "json" {
		return slog.NewJSONHandler(out, options)
	}
	return slog.NewTextHandler(out, options)
}

// Write accepts one line or drops it. It never blocks and never fails.
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

// close waits until the accepted lines are written, but no longer than the given time: the reader may have stalled.
func (l *lineLog) close(within time.Duration) {
	close(l.ending)
	select {
	case <-l.ended:
	case <-time.After(within):
	}
}

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
		select { // collect the next lines
		case <-time.After(l.gather):
		case <-l.flush:
		case <-l.ending:
		}
	}
}

// writeLines writes the lines accepted so far, then how many lines were dropped.
func (l *lineLog) writeLines() {
	l.mu.Lock()
	l.lines, l.spare = l.spare[:0], l.lines
	dropped := l.dropped
	l.mu.Unlock()
	lost := 0
	if n, err := l.out.Write(l.spare); err != nil {
		lost = bytes.Count(l.spare[n:], []byte("\n"))
	} else if dropped > 0 {
		count := slog.NewRecord(time.Now(), slog.LevelWarn, "log lines were dropped", 0)
		count.AddAttrs(slog.Int("count", dropped))
		if l.direct.Handle(context.Background(), count) == nil {
			lost = -dropped // these are reported
		}
	}
	l.mu.Lock()
	l.dropped += lost
	l.mu.Unlock()
}

// urgent is a handler that does not delay warnings and errors: the process may be about to end.
type urgent struct {
	slog.Handler
	log *lineLog
}

func (h urgent) Handle(ctx context.Context, record slog.Record) error {
	err := h.Handler.Handle(ctx, record)
	if record.Level >= slog.LevelWarn {
		notify(h.log.flush)
	}
	return err
}

func (h urgent) WithAttrs(attributes []slog.Attr) slog.Handler {
	return urgent{h.Handler.WithAttrs(attributes), h.log}
}

func (h urgent) WithGroup(name string) slog.Handler {
	return urgent{h.Handler.WithGroup(name), h.log}
}

// notify puts an element into a channel of capacity 1, unless it already has one.
func notify(channel chan struct{}) {
	select {
	case channel <- struct{}{}:
	default:
	}
}
