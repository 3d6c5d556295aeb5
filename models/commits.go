package models

import (
	"context"
	"database/sql"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
)

// maxBatch bounds the writes in one commit, and with it how long the first of them waits for the last.
const maxBatch = 512

// committer owns the one connection that writes, and lets writes share commits.
//
// A commit waits for the disk, and a disk takes as long to flush one row as to flush a hundred. So what arrives while
// a commit is on its way goes into the next one together, and each write is answered after its own commit is on disk.
// Nothing waits for company: a write that finds the committer idle is committed at once, alone.
type committer struct {
	conn  *sql.Conn
	files files
	queue chan *write
	// lost is closed when the database file was found removed or replaced.
	lost   chan struct{}
	isLost bool

	// closing is held for reading while a write is put into the queue, and for writing to close the queue.
	closing sync.RWMutex
	closed  bool
	stopped chan struct{}

	// turn is held while a batch is on its way, and what follows belongs to it.
	turn        chan struct{}
	busyTimeout time.Duration // what the connection's pragma is set to
	since       changes       // what was written since somebody took it
}

// changes are what the committer has written, or tried to write.
type changes struct {
	other  bool  // something else than creations
	lowest int64 // the lowest id that a creation got; 0 without any
}

// onlyAfter reports whether users were created with higher ids than the given, and nothing else was written.
func (c changes) onlyAfter(id int64) bool { return !c.other && (c.lowest == 0 || c.lowest > id) }

// write is one statement on its way to disk, and its outcome once done is closed.
type write struct {
	statement string
	arguments []any
	arrived   time.Time

	outcome
	err  error
	done chan struct{}
}

// outcome is what a statement did: the id of the row it inserted, and how many rows it changed.
type outcome struct{ id, rows int64 }

func startCommitter(conn *sql.Conn, files files) *committer {
	c := &committer{
		conn:        conn,
		files:       files,
		queue:       make(chan *write, maxBatch),
		lost:        make(chan struct{}),
		stopped:     make(chan struct{}),
		turn:        make(chan struct{}, 1),
		busyTimeout: busyTimeout,
	}
	go c.loop()
	return c
}

// write runs a statement and returns when it is on disk, or was refused. The context ends the waiting for a place in
// a full queue, and nothing after that: a statement that has a place is run, so its outcome is waited for.
func (c *committer) write(ctx context.Context, statement string, arguments ...any) (outcome, error) {
	w := &write{statement: statement, arguments: arguments, arrived: time.Now(), done: make(chan struct{})}
	if err := c.enqueue(ctx, w); err != nil {
		return outcome{}, err
	}
	<-w.done
	return w.outcome, w.err
}

func (c *committer) enqueue(ctx context.Context, w *write) error {
	c.closing.RLock()
	defer c.closing.RUnlock()
	if c.closed {
		return ErrClosed
	}
	select {
	case c.queue <- w:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close commits what is in the queue and refuses what comes later.
func (c *committer) close() {
	c.closing.Lock()
	if !c.closed {
		c.closed = true
		close(c.queue)
	}
	c.closing.Unlock()
	<-c.stopped
}

func (c *committer) loop() {
	defer close(c.stopped)
	watch := time.NewTicker(time.Second)
	defer watch.Stop()
	for {
		select {
		case first, open := <-c.queue:
			if !open {
				return
			}
			runtime.Gosched() // let requests that are ready come along
			c.turn <- struct{}{}
			c.commit(c.gather(first))
			<-c.turn
		case <-watch.C:
			_ = c.checkFiles() // an idle program notices as well
		}
	}
}

// gather returns the first write and those that have arrived behind it.
func (c *committer) gather(first *write) []*write {
	batch := []*write{first}
	for len(batch) < maxBatch {
		select {
		case w, open := <-c.queue:
			if !open {
				return batch
			}
			batch = append(batch, w)
		default:
			return batch
		}
	}
	return batch
}

// commit runs a batch in one transaction and answers each write of it.
func (c *committer) commit(batch []*write) {
	batch = c.begin(batch)
	for _, w := range batch {
		w.err = c.run(w)
		if w.err != nil && !c.failsAlone(w.err) {
			c.rollBack()
			c.commitEachAlone(batch, w.err)
			return
		}
	}
	if len(batch) > 0 {
		answer(batch, c.flush())
	}
}

// begin takes the write lock, and returns the writes that have it now. Each waits for another program's lock as
// long as busyTimeout from its own arrival, however long the writes before it have waited.
func (c *committer) begin(batch []*write) []*write {
	const tick = 100 * time.Millisecond // what SQLite's own wait is exact to
	for len(batch) > 0 {
		c.waitForLock((busyTimeout - time.Since(batch[0].arrived)).Round(tick))
		err := c.execute("BEGIN IMMEDIATE")
		if err == nil {
			return batch
		}
		waited := slices.IndexFunc(batch, func(w *write) bool { return time.Since(w.arrived) < busyTimeout-tick })
		if waited < 0 || !isBusy(err) {
			waited = len(batch)
		}
		answer(batch[:waited], err)
		batch = batch[waited:]
	}
	return nil
}

// waitForLock sets how long BEGIN waits, where that has changed: while no other program holds the lock it does not.
func (c *committer) waitForLock(timeout time.Duration) {
	timeout = max(timeout, 0)
	if timeout != c.busyTimeout && c.execute(fmt.Sprintf("PRAGMA busy_timeout(%d)", timeout.Milliseconds())) == nil {
		c.busyTimeout = timeout
	}
}

// standstill runs f while no write is on its way and none begins. It gives up, and reports false, when one takes longer
// than a commit does: it waits for another program's lock.
func (c *committer) standstill(f func()) bool {
	select {
	case c.turn <- struct{}{}:
	case <-time.After(20 * time.Millisecond):
		return false
	}
	defer func() { <-c.turn }()
	f()
	return true
}

// takeChanges returns what was written since it was last called. It must be called in a standstill.
func (c *committer) takeChanges() changes {
	taken := c.since
	c.since = changes{}
	return taken
}

// note remembers what a statement has done, before its commit: that it did more than is seen does no harm.
func (c *committer) note(w *write) {
	switch {
	case w.statement != insertUser:
		c.since.other = true
	case w.rows > 0 && (c.since.lowest == 0 || w.id < c.since.lowest):
		c.since.lowest = w.id
	}
}

// run runs one statement within the transaction.
func (c *committer) run(w *write) error {
	result, err := c.conn.ExecContext(context.Background(), w.statement, w.arguments...)
	if err != nil {
		return err
	}
	// Read here: a sql.Result locks the connection, and would make the answer wait for the next commit.
	if w.id, err = result.LastInsertId(); err != nil {
		return err
	}
	w.rows, err = result.RowsAffected()
	c.note(w)
	return err
}

// failsAlone reports whether a refused statement left no trace and the transaction goes on without it. That holds for
// a constraint of the table. It does not for a trigger, which may keep what it did before it refused, nor for a
// constraint declared ON CONFLICT ROLLBACK, which ends the transaction: then BEGIN is possible again.
func (c *committer) failsAlone(err error) bool {
	code, _ := Code(err)
	return code&0xff == codeConstraint && code != codeConstraintTrigger && c.execute("BEGIN") != nil
}

// commitEachAlone commits a batch that was rolled back because of err, each write in a transaction of its own, so
// that the one that was to blame fails alone.
func (c *committer) commitEachAlone(batch []*write, err error) {
	if len(batch) == 1 {
		answer(batch, err)
		return
	}
	for i := range batch {
		c.commit(batch[i : i+1])
	}
}

// flush ends the transaction. Once it returned nil, what the transaction did is on disk, in the file that a restart
// will open.
func (c *committer) flush() error {
	if err := c.execute("COMMIT"); err != nil {
		c.rollBack()
		return err
	}
	return c.checkFiles()
}

// rollBack ends the transaction where SQLite has not ended it already: then there is nothing to roll back, which is
// no error here.
func (c *committer) rollBack() { _ = c.execute("ROLLBACK") }

func (c *committer) execute(statement string) error {
	_, err := c.conn.ExecContext(context.Background(), statement)
	return err
}

// checkFiles returns ErrLost, and closes lost, once a restart would not find what was written.
func (c *committer) checkFiles() error {
	if !c.isLost && !c.files.inPlace() {
		c.isLost = true
		c.files.setAside()
		close(c.lost)
	}
	if c.isLost {
		return ErrLost
	}
	return nil
}

// answer tells the writes of a batch how their commit ended. One that was refused before keeps its own error.
func answer(batch []*write, err error) {
	for _, w := range batch {
		if w.err == nil {
			w.err = err
		}
		close(w.done)
	}
}
