// Package follow lets many clients wait for the next change, for both engines: however many wait, the newest cursor is
// read once per interval.
package follow

import (
	"context"
	"time"
)

// every is how often a client that waits looks for changes.
const every = 50 * time.Millisecond

// Feed is the feed that clients wait for.
type Feed struct {
	newest func(context.Context) (string, error)

	turn   chan struct{} // holds a value while a client reads the cursor
	cursor string        // the newest
	read   time.Time     // when it was read
}

// New returns a feed whose newest cursor a function reads.
func New(newest func(context.Context) (string, error)) *Feed {
	return &Feed{newest: newest, turn: make(chan struct{}, 1)}
}

// Await returns when the feed may have entries after a cursor, or the error of the context or of the function.
func (f *Feed) Await(ctx context.Context, cursor string) error {
	began := time.Now() // what was read before may be older than the cursor
	next := time.NewTicker(every)
	defer next.Stop()
	for {
		newest, read, err := f.latest(ctx)
		if end, ok := ctx.Deadline(); err != nil && ok && !time.Now().Before(end) {
			return context.DeadlineExceeded // storage may notice it first, and says so in words of its own
		}
		if err != nil || newest != cursor && !read.Before(began) {
			return err
		}
		select {
		case <-next.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// latest returns the newest cursor of a moment ago, and when it was read.
func (f *Feed) latest(ctx context.Context) (string, time.Time, error) {
	select {
	case f.turn <- struct{}{}:
		defer func() { <-f.turn }()
	case <-ctx.Done(): // storage may take longer to answer another client than this one wants to wait
		return "", time.Time{}, ctx.Err()
	}
	if time.Since(f.read) < every/2 {
		return f.cursor, f.read, nil
	}
	read := time.Now()
	newest, err := f.newest(ctx)
	if err == nil {
		f.cursor, f.read = newest, read
	}
	return newest, read, err
}
