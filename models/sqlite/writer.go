package sqlite

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"users-api/models"
	"users-api/models/batch"
	"users-api/models/listcache"
)

// writer owns the one connection that writes, and lets writes share commits (package batch).
//
// A refused write leaves no trace, and the others of its batch are committed without it.
type writer struct {
	transaction
	files       files
	queue       *batch.Queue[*write]
	commits     models.Commits
	checkpoints *checkpoints
	// freed is when an exclusive write gave the connection back. Writes that waited for it have not waited for another
	// program.
	freed time.Time
	// replaced is closed when the database file was found removed or replaced.
	replaced   chan struct{}
	isReplaced bool
	// indexing: see indexWritten.
	indexing atomic.Bool

	// forced ends once no write may wait for another program's lock any more.
	forced  context.Context
	force   context.CancelFunc
	stopped chan struct{}

	// underWay is held while a batch is under way, and for work between two batches.
	underWay chan struct{}
}

func startWriter(path string, queries *queries, files files) (*writer, error) {
	conn, err := queries.connect(path)
	if err != nil {
		return nil, err
	}
	if err := conn.checkTable(); err != nil {
		return nil, err
	}
	// The writer waits for locks itself: see beginWithRetry.
	if err := conn.Script(waitBriefly); err != nil {
		return nil, err
	}
	c := &writer{
		transaction: transaction{conn: conn},
		files:       files,
		queue:       batch.NewQueue[*write](),
		replaced:    make(chan struct{}),
		stopped:     make(chan struct{}),
		underWay:    make(chan struct{}, 1),
	}
	c.forced, c.force = context.WithCancel(context.Background())
	if c.checkpoints, err = startCheckpoints(path, conn.Connection, c.pause); err != nil {
		return nil, err
	}
	go c.loop()
	return c, nil
}

// do runs a write in a transaction and returns once it is on disk, or was refused. The write may run again if another
// write of its batch rolled the transaction back. The context ends the wait for a place in a full queue.
func (c *writer) do(ctx context.Context, w *write) error { return c.queue.Do(ctx, w) }

// close commits the writes in the queue and refuses later ones. When the context ends, writes that wait for another
// program's lock are refused.
func (c *writer) close(ctx context.Context) {
	defer context.AfterFunc(ctx, c.force)()
	c.queue.Close()
	<-c.stopped
}

// closeFiles writes the -wal file back, empties it, and closes the last connection. It checks the files before that:
// SQLite deletes the -wal file by its name, which may belong to another database by now. After the check SQLite has
// nothing left to do that takes time, and an empty -wal file does no harm to another database.
func (c *writer) closeFiles() error {
	c.checkpoints.close()
	defer c.checkpoints.closeFile()
	_ = c.conn.Script(emptyWAL) // another program may be reading: its close does the rest
	if err := c.checkFiles(); err != nil {
		return err
	}
	c.conn.Close()
	return nil
}

func (c *writer) loop() {
	defer close(c.stopped)
	watch := time.NewTicker(time.Second)
	defer watch.Stop()
	for {
		select {
		case first, open := <-c.queue.Waiting():
			if !open {
				return
			}
			runtime.Gosched() // let requests that are ready join
			c.underWay <- struct{}{}
			writes, exclusive := c.queue.Gather(first, func(w *write) bool { return w.exclusive })
			c.commitTogether(writes)
			if exclusive != nil {
				c.commitExclusive(exclusive)
			}
			<-c.underWay
			c.checkpoints.committed()
		case <-watch.C:
			_ = c.checkFiles() // an idle service notices as well; after the loop, Close checks
		}
	}
}

// pause runs a function while no commit of this process is under way.
func (c *writer) pause(run func()) {
	c.underWay <- struct{}{}
	defer func() { <-c.underWay }()
	run()
}

// checkFiles returns ErrReplaced, and closes replaced, once a restart would not find what was written.
func (c *writer) checkFiles() error {
	if !c.isReplaced && !c.files.isSameFile() {
		c.isReplaced = true
		c.files.quarantine()
		close(c.replaced)
	}
	if c.isReplaced {
		return models.ErrReplaced
	}
	return nil
}

// beginSnapshot runs begin while no commit of this process is under way. It returns what was committed since it last
// did so: by this process, and by any other before begin returned. If a commit takes longer than usual, because another
// program holds the lock, begin runs beside it, and anything may have been committed.
func (c *writer) beginSnapshot(begin func() error) (listcache.Changes, error) {
	const longerThanACommit = 20 * time.Millisecond
	select {
	case c.underWay <- struct{}{}:
	case <-time.After(longerThanACommit):
		return listcache.Unknown(), begin()
	}
	defer func() { <-c.underWay }()
	if err := c.detectExternalCommits(); err != nil {
		return listcache.Changes{}, err
	}
	if err := begin(); err != nil {
		return listcache.Changes{}, err
	}
	since := c.changed.Take()
	// What begin has begun may or may not see another program's commit from here on. After one, since does not cover
	// all changes, and the next call must report it too.
	if err := c.detectExternalCommits(); err != nil || c.changed.Anything() {
		return listcache.Unknown(), err
	}
	return since, nil
}
