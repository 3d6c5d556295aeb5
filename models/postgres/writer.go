package postgres

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

	"users-api/models"
)

// maxBatch bounds the creations in one commit.
const maxBatch = 512

// writers is how many commits may be under way at once. One, two and three allowed the same number of creations a
// second, with 64 clients on two busy cores. With two, one goes on while the other waits because another program stores
// the same email.
const writers = 2

// writer lets creations share commits.
//
// A commit waits for the disk and a statement for the network, and both take as long for a hundred rows as for one. So
// the creations that arrive while earlier statements are under way go into the next one together. Nothing waits for
// company: a creation that finds a writer idle is committed at once.
//
// A statement is stored as a whole or not at all. If it is refused, each creation is tried again by itself, by the
// request that waits for it, so that only the creations fail that are to blame.
type writer struct {
	database *database
	insert   string // the statement
	queue    chan *creation
	stopped  sync.WaitGroup
}

// creation is a user on the way into the table. Its outcome is set once done is closed.
type creation struct {
	user    models.NewUser
	arrived time.Time
	id      int64
	err     error
	done    chan struct{}
}

// errSingly: the creation must be tried again by itself, because one of its batch was refused.
var errSingly = errors.New("one of several creations was refused")

func startWriters(database *database, t table) *writer {
	c := &writer{database: database, insert: t.insertText(), queue: make(chan *creation, maxBatch)}
	for range writers {
		c.stopped.Go(c.loop)
	}
	return c
}

// close ends the writers. They must not be used any more.
func (c *writer) close() {
	close(c.queue)
	c.stopped.Wait()
}

// create stores a user and returns its id. The context ends the wait for a place in a full queue, and nothing after that.
func (c *writer) create(ctx context.Context, user models.NewUser) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	w := &creation{user: user, arrived: time.Now(), done: make(chan struct{})}
	if !storable(user.Name) || !storable(user.Email) {
		return c.createSingly(w) // PostgreSQL refuses it with its own text, and would refuse the whole batch
	}
	select {
	case c.queue <- w:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	<-w.done
	if errors.Is(w.err, errSingly) {
		return c.createSingly(w)
	}
	return w.id, w.err
}

// createSingly stores a user with its own statement, in what is left of its time.
func (c *writer) createSingly(w *creation) (id int64, err error) {
	err = c.database.until(context.Background(), w.arrived.Add(answerTime), write, committing(
		func(ctx context.Context, conn connection) error {
			ids, err := conn.insert(ctx, c.insert, []models.NewUser{w.user})
			if len(ids) == 1 {
				id = ids[0]
			}
			return err
		}))
	return id, c.database.counted(err)
}

func (c *writer) loop() {
	for first := range c.queue {
		runtime.Gosched() // let requests that are ready join
		c.commitTogether(c.gather(first))
	}
}

// gather returns the first creation and those queued behind it.
func (c *writer) gather(first *creation) []*creation {
	batch := []*creation{first}
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

// commitTogether stores a batch with one statement, and completes each of its creations.
//
// They are stored in the order of their emails: otherwise two processes that store the same emails at once wait for
// each other, until PostgreSQL ends one of the two.
func (c *writer) commitTogether(batch []*creation) {
	oldest := batch[0].arrived
	slices.SortFunc(batch, func(a, b *creation) int { return cmp.Compare(a.user.Email, b.user.Email) })
	users := make([]models.NewUser, len(batch))
	for i, w := range batch {
		users[i] = w.user
	}
	ctx, cancel := context.WithDeadline(context.Background(), oldest.Add(answerTime))
	defer cancel()
	var ids []int64
	err := c.database.borrow(context.Background(), ctx, write, committing(func(ctx context.Context, conn connection) (err error) {
		ids, err = conn.insert(ctx, c.insert, users)
		return err
	}))
	if err != nil && len(batch) > 1 && isRefusal(err) {
		err = errSingly
	}
	if err == nil {
		c.database.commits.Count(uint(len(batch)))
	}
	for i, w := range batch {
		if w.err = err; err == nil {
			w.id = ids[i]
		}
		close(w.done)
	}
}

// isRefusal reports whether the server refused what a statement asked for. It has then stored nothing, and a single row
// may be to blame.
func isRefusal(err error) bool {
	failed, ok := errors.AsType[*models.StorageError](err)
	if !ok || failed.Code == codeReadOnly || failed.Code == codeUnserved {
		return false
	}
	switch class(failed.Code) {
	case "":
		return errors.Is(err, models.ErrIgnored)
	case classConnection, classAccess, classResources, classIntervention, classSystem, classInternal, classRollback, classLocks:
		return false
	}
	return true
}
