package models

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"
)

// A disk takes as long to flush one row as a hundred. So the writes that arrive during a commit go into the next one
// together (group commit): each waits for its outcome or for the turn, and the one that gets the turn commits all that
// wait, its own included. A write that finds the turn free is committed at once, on the goroutine of its request.

// write is one write on its way to disk.
type write struct {
	kind kind
	// run does all of the write, alone or beside others, with its exact error. In a batch, runTogether does the same for
	// creations and deletions. A statement that commits by itself must have done nothing where run returns an error of
	// its own: tryStatement knows these errors.
	run     func(tx *transaction) error
	user    *User // of a creation
	id      int64 // of a deletion
	arrived time.Time
	outcome error // in a transaction that is committed
	done    chan error
}

// kind says which statement a write is. Those of the creations in a batch are one, and so are those of the deletions.
type kind int

const (
	isCreation kind = iota
	isDeletion
	isChange
	isOther // more than one statement
)

// errAlone is the outcome of a write that its batch has left out: its caller commits it alone.
var errAlone = errors.New("the write is to be committed alone")

// queue holds the writes that wait for a commit.
type queue struct {
	mu      sync.Mutex // guards waiting
	waiting []*write
	turn    chan struct{} // holds a value for each commit under way
	// closing is held for reading during a write, and for writing to close the queue.
	closing sync.RWMutex
	closed  bool
}

// write carries out a write, and returns its outcome. The context ends only the wait for a commit to begin. On
// PostgreSQL a change, or a deletion with a precondition, shares no transaction: the server lets transactions share a
// flush by itself.
func (u *Users) write(ctx context.Context, w *write) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w.arrived, w.done = time.Now(), make(chan error, 1)
	err := u.queue.whileOpen(func() error {
		err := errAlone
		if w.kind == isCreation || w.kind == isDeletion || !u.limits.ownChanges {
			err = u.share(ctx, w)
		}
		if errors.Is(err, errAlone) {
			err = u.transact(w.arrived, false, w)
		}
		if errors.Is(err, errLocked) { // by another program, for as long as a write may wait
			err = u.transact(w.arrived, true, w)
		}
		return err
	})
	if err != nil {
		err, _ = u.dialect.classify(err)
	}
	return err
}

// share puts a write into the queue, and commits batches until one of them has held it.
func (u *Users) share(ctx context.Context, w *write) error {
	q := u.queue
	q.mu.Lock()
	q.waiting = append(q.waiting, w)
	q.mu.Unlock()
	for {
		select {
		case q.turn <- struct{}{}:
			runtime.Gosched() // let requests that are ready join
			q.mu.Lock()
			n := min(len(q.waiting), u.limits.maxBatch)
			if !slices.Contains(q.waiting, w) {
				n = 0 // w was in the batch before
			}
			batch := slices.Clone(q.waiting[:n])
			q.waiting = slices.Delete(q.waiting, 0, n)
			q.mu.Unlock()
			if n > 0 {
				u.commit(batch)
			}
			<-q.turn
			if n == 0 || slices.Contains(batch, w) {
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

// close refuses later writes, waits for those under way, and reports whether the queue was open. It waits until a
// moment after the context has ended: a server that does not answer does not confirm the end of a write either.
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
