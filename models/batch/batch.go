// Package batch lets writes share a commit.
//
// A commit waits for the disk, and a disk takes as long to flush one row as to flush a hundred. So the writes that
// arrive while a commit is under way go into the next one together, and each returns after its own commit is on disk.
// Nothing waits for company: a write that finds the writer idle is committed at once.
package batch

import (
	"context"
	"sync"
	"time"

	"users-api/models"
)

// Most bounds the writes in one commit, and so how long the first of them waits for the last.
const Most = 512

// Write is one write on its way to disk. An engine embeds it in its own.
type Write struct {
	Arrived time.Time
	err     error
	done    chan struct{}
}

// End completes the write with its outcome.
func (w *Write) End(err error) {
	w.err = err
	close(w.done)
}

func (w *Write) write() *Write { return w }

// Queue holds the writes that wait for a commit.
type Queue[W interface{ write() *Write }] struct {
	waiting chan W
	// closing is held for reading while a write is put into the queue, and for writing to close the queue.
	closing sync.RWMutex
	closed  bool
}

// NewQueue returns an empty queue.
func NewQueue[W interface{ write() *Write }]() *Queue[W] {
	return &Queue[W]{waiting: make(chan W, Most)}
}

// Do puts a write into the queue, and returns its outcome. The context ends the wait for a place in a full queue, and
// nothing after that: a write that has a place runs, so Do waits for its outcome.
func (q *Queue[W]) Do(ctx context.Context, write W) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := write.write()
	w.Arrived, w.done = time.Now(), make(chan struct{})
	if err := q.put(ctx, write); err != nil {
		return err
	}
	<-w.done
	return w.err
}

func (q *Queue[W]) put(ctx context.Context, write W) error {
	q.closing.RLock()
	defer q.closing.RUnlock()
	if q.closed {
		return models.ErrClosed
	}
	select {
	case q.waiting <- write:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close refuses later writes. Those in the queue are still taken from it.
func (q *Queue[W]) Close() {
	q.closing.Lock()
	defer q.closing.Unlock()
	if !q.closed {
		q.closed = true
		close(q.waiting)
	}
}

// Waiting returns the writes in order of arrival.
func (q *Queue[W]) Waiting() <-chan W { return q.waiting }

// Gather returns the first write and those queued behind it, up to one that must have a commit of its own, which it
// returns apart. Call runtime.Gosched before, so that requests that are ready join.
func (q *Queue[W]) Gather(first W, isExclusive func(W) bool) (batch []W, exclusive W) {
	for write, open := first, true; open; {
		if isExclusive(write) {
			return batch, write
		}
		if batch = append(batch, write); len(batch) == Most {
			break
		}
		select {
		case write, open = <-q.waiting:
		default:
			open = false
		}
	}
	return batch, exclusive
}
