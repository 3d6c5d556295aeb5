package models

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// A disk takes as long to flush one row as a hundred. So the writes that arrive during a commit go into the next one together
// (group commit): each waits for its outcome or for the turn, and the one that gets the turn commits all that wait, its own
// included. A write that finds the turn free is committed at once, on the goroutine of its request.

// write is one write on its way to disk.
type write struct {
	arrived        time.Time
	user           *User                       // to create; nil for another write
	deleted        *int64                      // the id of a user to delete; likewise
	run            func(tx *transaction) error // what another write does
	isOneStatement bool                        // run writes with one statement, and needs nothing before it
	refusal        error                       // why it is refused, in a transaction that is committed without it
	skipped        bool                        // a creation or deletion that a statement for many has skipped
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

// write carries out a write, and returns its outcome. The context ends only the wait for a commit to begin. On PostgreSQL a change,
// or a deletion with a condition, has a transaction of its own: the server lets transactions share a flush by itself.
func (u *Users) write(ctx context.Context, w *write) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q := u.queue
	w.arrived, w.done = time.Now(), make(chan error, 1)
	return q.whileOpen(func() error {
		if w.run != nil && u.limits.ownChanges {
			u.commit([]*write{w})
			return <-w.done
		}
		q.mu.Lock()
		q.waiting = append(q.waiting, w)
		q.mu.Unlock()
		for {
			select {
			case q.turn <- struct{}{}:
				if u.commitWaiting(w) {
					return <-w.done
				}
			case err := <-w.done:
				return err
			case <-ctx.Done():
				if q.remove(w) {
					return ctx.Err()
				}
				return <-w.done
			}
		}
	})
}

// commitWaiting commits the writes that wait the longest, gives the turn back, and reports whether one of them waits no more.
func (u *Users) commitWaiting(w *write) bool {
	q := u.queue
	defer func() {
		<-q.turn
		if failed := recover(); failed != nil { // others wait for its transaction, which is open: only a restart helps
			go panic(fmt.Sprintf("%v\n%s", failed, debug.Stack()))
		}
	}()
	runtime.Gosched() // let requests that are ready join
	q.mu.Lock()
	n := min(len(q.waiting), u.limits.maxBatch)
	batch := slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	isTaken := !slices.Contains(q.waiting, w)
	q.mu.Unlock()
	if n > 0 {
		u.commit(batch)
	}
	return isTaken
}

// remove takes a write out of the queue, unless its commit has begun.
func (q *queue) remove(w *write) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := slices.Index(q.waiting, w)
	if at >= 0 {
		q.waiting = slices.Delete(q.waiting, at, at+1)
	}
	return at >= 0
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
