package models

import (
	"context"
	"runtime"
	"sync"
	"time"

	"gorm.io/gorm"
)

// A disk takes as long to flush one row as a hundred. So the writes that arrive during a commit go into the next one together,
// and each returns after its own commit is on disk. A write that finds a writer idle is committed at once.

// maxBatch bounds the writes in one commit, and so how long the first of them waits for the last.
const maxBatch = 512

// write is one write on its way to disk.
type write struct {
	arrived time.Time
	user    *User                   // to create; nil for another write
	run     func(tx *gorm.DB) error // what another write does
	refusal error                   // why it is refused, in a transaction that is committed without it
	skipped bool                    // a creation that a statement for many has passed over
	done    chan error
}

// queue holds the writes that wait for a commit.
type queue struct {
	waiting chan *write
	// closing is held for reading while a write is put into the queue, or runs beside it, and for writing to close the queue.
	closing sync.RWMutex
	closed  bool
	writers sync.WaitGroup
}

// startQueue starts the writers.
func (u *Users) startQueue() *queue {
	q := &queue{waiting: make(chan *write, maxBatch)}
	for range u.writers {
		q.writers.Go(func() {
			for first := range q.waiting {
				runtime.Gosched() // let requests that are ready join
				batch := []*write{first}
				for more := true; more && len(batch) < maxBatch; {
					select {
					case next, open := <-q.waiting:
						if more = open; open {
							batch = append(batch, next)
						}
					default:
						more = false
					}
				}
				u.commit(batch)
			}
		})
	}
	return q
}

// write carries out a write, and returns its outcome. The context ends only the wait for a place in a full queue. On PostgreSQL
// a change or deletion has a transaction of its own, because the server lets transactions share a flush by itself.
func (u *Users) write(ctx context.Context, w *write) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w.arrived, w.done = time.Now(), make(chan error, 1)
	err := u.queue.whileOpen(func() error {
		if w.user == nil && u.apart {
			u.queue.writers.Go(func() { u.commit([]*write{w}) })
			return nil
		}
		select {
		case u.queue.waiting <- w:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	if err != nil {
		return err
	}
	return <-w.done
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
		if wasOpen {
			q.closed = true
			close(q.waiting)
			q.writers.Wait()
		}
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
