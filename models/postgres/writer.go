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
	"users-api/models/batch"
)

// writers is how many commits may be under way at once. One, two and three allowed the same number of creations a
// second, with 64 clients on two busy cores. With two, one goes on while the other waits because another program stores
// the same email.
const writers = 2

// writer lets creations share commits: see package batch. Those of one commit are one statement, because a statement
// waits for the network for as long as for a hundred rows.
//
// A statement is stored as a whole or not at all. If it is refused, each creation is tried again by itself, by the
// request that waits for it, so that only the creations fail that are to blame.
type writer struct {
	database *database
	queries  *queries
	queue    *batch.Queue[*creation]
	stopped  sync.WaitGroup
}

type creation struct {
	batch.Write
	user  models.NewUser
	lower string // the email without regard to case
	id    int64
}

// errSingly: the creation must be tried again by itself, because one of its batch was refused.
var errSingly = errors.New("one of several creations was refused")

func startWriters(database *database, queries *queries) *writer {
	w := &writer{database: database, queries: queries, queue: batch.NewQueue[*creation]()}
	for range writers {
		w.stopped.Go(func() {
			for first := range w.queue.Waiting() {
				runtime.Gosched() // let requests that are ready join
				together, _ := w.queue.Gather(first, func(*creation) bool { return false })
				w.commitTogether(together)
			}
		})
	}
	return w
}

// close ends the writers. They must not be used any more.
func (w *writer) close() {
	w.queue.Close()
	w.stopped.Wait()
}

// create stores a user and returns its id. The context ends the wait for a place in a full queue, and nothing after that.
func (w *writer) create(ctx context.Context, user models.NewUser) (int64, error) {
	c := &creation{user: user, lower: models.LowerASCII(user.Email)}
	if !w.queries.accepts(&user) { // PostgreSQL refuses it with its own text, and would refuse the whole batch
		c.Arrived = time.Now()
		return w.createSingly(c)
	}
	err := w.queue.Do(ctx, c)
	if errors.Is(err, errSingly) {
		return w.createSingly(c)
	}
	return c.id, err
}

// createSingly stores a user with its own statement, in what is left of its time.
func (w *writer) createSingly(c *creation) (int64, error) {
	err := w.database.until(context.Background(), c.Arrived.Add(answerTime), write, w.insert([]*creation{c}))
	return c.id, w.database.counted(err)
}

func (w *writer) insert(all []*creation) func(context.Context, connection) error {
	values := arrays(w.queries.fields, len(all), func(i int) *models.NewUser { return &all[i].user })
	return committing(func(ctx context.Context, conn connection) error {
		ids, err := conn.ids(ctx, w.queries.insert, values...)
		for i, id := range ids {
			all[i].id = id
		}
		return err
	})
}

// commitTogether stores creations with one statement, and completes each.
//
// They are stored in the order of their emails: otherwise two processes that store the same emails at once wait for
// each other, until PostgreSQL ends one of the two. The case of letters comes last, because two emails that differ only in
// that may be the same.
func (w *writer) commitTogether(all []*creation) {
	ctx, cancel := context.WithDeadline(context.Background(), all[0].Arrived.Add(answerTime))
	defer cancel()
	slices.SortFunc(all, func(a, b *creation) int {
		return cmp.Or(cmp.Compare(a.lower, b.lower), cmp.Compare(a.user.Email, b.user.Email))
	})
	err := w.database.borrow(context.Background(), ctx, write, w.insert(all))
	if err != nil && len(all) > 1 && isRefusal(err) {
		err = errSingly
	}
	if err == nil {
		w.database.commits.Count(uint(len(all)))
	}
	for _, c := range all {
		c.End(err)
	}
}
