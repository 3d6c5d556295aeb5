package sqlite

import (
	"slices"
	"time"
)

// write is one write on its way to disk. Its outcome is set once done is closed.
type write struct {
	run       func(*transaction) error
	arrived   time.Time
	exclusive bool // it has a commit of its own
	err       error
	done      chan struct{}
}

// end completes a write with the outcome of its transaction. In a committed transaction, a refused write has its own
// error.
func (w *write) end(err error) {
	if err != nil {
		w.err = err
	}
	close(w.done)
}

// commitTogether runs a batch in one transaction and completes each of its writes. A write that rolls the transaction
// back is taken out, and the others run again without it.
func (c *writer) commitTogether(batch []*write) {
	for batch = c.beginWithRetry(batch); len(batch) > 0; batch = c.beginWithRetry(batch) {
		culprit, err := c.runAll(batch)
		if err == nil {
			if err = c.flush(); err == nil {
				c.commits.Count(stored(batch))
			}
			endAll(batch, err)
			return
		}
		c.rollBack()
		if culprit == nil {
			endAll(batch, err)
			return
		}
		culprit.end(err)
		batch = slices.DeleteFunc(batch, func(w *write) bool { return w == culprit })
	}
}

// runAll runs the writes of a batch. An error means that the transaction has failed: because of the culprit, or,
// without one, because of the disk or the file, which would fail every write.
func (c *writer) runAll(batch []*write) (culprit *write, err error) {
	for _, w := range batch {
		w.err = c.inSavepoint(w.run)
		switch {
		case isFatal(w.err):
			return nil, w.err
		case c.over:
			return w, w.err
		}
	}
	return nil, nil
}

// stored returns how many writes of a batch were not refused.
func stored(batch []*write) (n uint) {
	for _, w := range batch {
		if w.err == nil {
			n++
		}
	}
	return n
}

func endAll(batch []*write, err error) {
	for _, w := range batch {
		w.end(err)
	}
}

// beginWithRetry begins a transaction with the write lock, and returns the writes that take part in it. Each write
// waits for another program's lock for busyTimeout from its own arrival, however long earlier writes have waited, or
// from the end of an exclusive write. It does not wait at all once forceClose is closed.
func (c *writer) beginWithRetry(batch []*write) []*write {
	for len(batch) > 0 {
		err := c.begin()
		if err == nil {
			return batch
		}
		batch = slices.DeleteFunc(batch, func(w *write) bool {
			waits := isBusy(err) && time.Since(latest(w.arrived, c.freed)) < busyTimeout && !c.isForced()
			if !waits {
				w.end(err)
			}
			return !waits
		})
	}
	return nil
}

func (c *writer) isForced() bool {
	select {
	case <-c.forceClose:
		return true
	default:
		return false
	}
}

// flush ends the transaction. Once it returns nil, the changes of the transaction are on disk, in the file that a
// restart will open.
func (c *writer) flush() error {
	if err := c.commit(); err != nil {
		c.rollBack()
		return err
	}
	return c.checkFiles()
}
