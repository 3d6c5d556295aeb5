package sqlite

import (
	"cmp"
	"slices"
	"time"

	"users-api/models/batch"
	"users-api/models/sqlite/dbfile"
)

type write struct {
	batch.Write
	run       func(*transaction) error
	exclusive bool  // it has a commit of its own
	refusal   error // why it is refused, in a transaction that is committed
}

func (w *write) end(err error) { w.End(cmp.Or(err, w.refusal)) }

// commitTogether runs a batch in one transaction and completes each of its writes. A write that rolls the transaction
// back is taken out, and the others run again without it.
func (c *writer) commitTogether(writes []*write) {
	for {
		if writes = c.beginWithRetry(writes); len(writes) == 0 {
			return
		}
		culprit, err := c.runAll(writes)
		if err == nil {
			if err = c.flush(); err == nil {
				c.commits.Count(stored(writes))
			}
			endAll(writes, err)
			return
		}
		c.rollBack()
		if culprit == nil {
			endAll(writes, err)
			return
		}
		culprit.end(err)
		writes = slices.DeleteFunc(writes, func(w *write) bool { return w == culprit })
	}
}

// runAll runs the writes of a batch. An error means that the transaction has failed: because of the culprit, or,
// without one, because of the disk or the file, which would fail every write.
func (c *writer) runAll(writes []*write) (culprit *write, err error) {
	for _, w := range writes {
		w.refusal = c.inSavepoint(w.run)
		switch {
		case isFatal(w.refusal):
			return nil, w.refusal
		case c.over:
			return w, w.refusal
		}
	}
	return nil, nil
}

func stored(writes []*write) (n uint) {
	for _, w := range writes {
		if w.refusal == nil {
			n++
		}
	}
	return n
}

func endAll(writes []*write, err error) {
	for _, w := range writes {
		w.end(err)
	}
}

// beginWithRetry begins a transaction with the write lock, and returns the writes that take part in it. Each write
// waits for another program's lock for busyTimeout from its own arrival, however long earlier writes have waited, or
// from the end of an exclusive write. It does not wait at all once forced has ended.
func (c *writer) beginWithRetry(writes []*write) []*write {
	for len(writes) > 0 {
		err := c.begin()
		if err == nil {
			return writes
		}
		writes = slices.DeleteFunc(writes, func(w *write) bool {
			waits := isBusy(err) && time.Since(latest(w.Arrived, c.freed)) < dbfile.BusyTimeout && c.forced.Err() == nil
			if !waits {
				w.end(err)
			}
			return !waits
		})
	}
	return nil
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
