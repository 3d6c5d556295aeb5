package models

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"gorm.io/gorm"
)

// A disk takes as long to flush one row as a hundred. So the writes that arrive during a commit go into the next one together
// (group commit): each waits for its outcome or for the turn, and the one that gets the turn commits all that wait, its own
// included. A write that finds the turn free is committed at once, on the goroutine of its request.

// write is one write on its way to disk.
type write struct {
	arrived        time.Time
	user           *User                   // to create; nil for another write
	deleted        *int64                  // the id of a user to delete; likewise
	run            func(tx *gorm.DB) error // what another write does
	isOneStatement bool                    // run writes with one statement, and needs nothing before it
	refusal        error                   // why it is refused, in a transaction that is committed without it
	skipped        bool                    // a creation or deletion that a statement for many has passed over
	done           chan error
}

// queue holds the writes that wait for a commit.
type queue struct {
	mu      sync.Mutex // guards waiting
	waiting []*write
	turn    chan struct{} // holds a value for each commit under way
	// closing is held for reading during a write, and for writing to close the queue.
	closing sync.RWMutex
	closed  bool
}

// write carries out a write, and returns its outcome. The context ends only the wait for a commit to begin. On PostgreSQL a change
// or deletion has a transaction of its own, because the server lets transactions share a flush by itself.
func (u *Users) write(ctx context.Context, w *write) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w.arrived, w.done = time.Now(), make(chan error, 1)
	return u.queue.whileOpen(func() error {
		if w.run != nil && u.apart {
			u.commit([]*write{w})
			return <-w.done
		}
		for waits := u.queue.add(w); waits; {
			select {
			case u.queue.turn <- struct{}{}:
				waits = u.commitWaiting(w)
			case err := <-w.done:
				return err
			case <-ctx.Done():
				if u.queue.remove(w) {
					return ctx.Err()
				}
				waits = false
			}
		}
		return <-w.done
	})
}

// commitWaiting commits the writes that wait, gives the turn back, and reports whether one of them still waits.
func (u *Users) commitWaiting(w *write) bool {
	defer func() { <-u.queue.turn }()
	runtime.Gosched() // let requests that are ready join
	batch, waits := u.queue.take(w, u.maxBatch)
	if len(batch) > 0 {
		u.commit(batch)
	}
	return waits
}

// take takes the writes that wait the longest out of the queue, and reports whether one of them still waits.
func (q *queue) take(w *write, most int) (batch []*write, waits bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.waiting), most)
	batch = slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	return batch, slices.Contains(q.waiting, w)
}

func (q *queue) add(w *write) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, w)
	return true
}

// remove takes a write out of the queue, unless its commit has begun.
func (q *queue) remove(w *write) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	before := len(q.waiting)
	q.waiting = slices.DeleteFunc(q.waiting, func(other *write) bool { return other == w })
	return len(q.waiting) < before
}

// whileOpen calls run, unless the queue is closed, which waits for run.
func (q *queue) whileOpen(run func() error) error {
	if !q.closing.TryRLock() {
		return ErrClosed // at once: it may take long to close
	}
	defer q.closing.RUnlock()
	if q.closed {
		return ErrClosed
	}
	return run()
}

func (q *queue) isClosed() bool { return q.whileOpen(func() error { return nil }) != nil }

// close refuses later writes, waits for those under way, and reports whether the queue was open. It waits until a moment after
// the context has ended: a server that does not answer does not confirm the end of a write either.
func (q *queue) close(ctx context.Context) bool {
	ended := make(chan bool, 1)
	go func() {
		q.closing.Lock()
		defer q.closing.Unlock()
		wasOpen := !q.closed
		q.closed = true
		ended <- wasOpen
	}()
	select {
	case wasOpen := <-ended:
		return wasOpen
	case <-ctx.Done():
	}
	select {
	case wasOpen := <-ended:
		return wasOpen
	case <-time.After(time.Second / 2):
		return true
	}
}
