package listcache

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"users-api/models"
)

// ErrNotCached: the source cannot tell now whether anything is committed. The list is streamed.
var ErrNotCached = errors.New("no list can be cached now")

// errTooLarge: the list is larger than maxBytes. It is streamed.
var errTooLarge = errors.New("the list is too large to be cached")

// refresh is one reading of the list, or one question whether it is still right, for every request that asked before it
// began.
type refresh struct {
	askers int32
	asked  time.Time // by the first of them
	done   chan struct{}
	list   *list
	err    error
}

// get returns the list as of a moment after the call, or nil if none can be cached. The caller is one of its readers.
//
// Requests that arrive together share one refresh. A request joins the refresh that has not begun yet, never the one
// under way, which could miss a commit that the client already knows of. The first of them to get the turn runs the
// refresh, on its own goroutine: waking another one would take longer than most refreshes.
func (c *Cache) get(ctx context.Context) (*list, error) {
	joined := c.join(&c.next)
	select {
	case <-joined.done:
	case c.turn <- struct{}{}:
		c.run(&c.next, joined, func() {
			if joined.list, joined.err = c.latest(); joined.list != nil {
				joined.list.readers.Add(joined.askers)
			}
		})
	case <-c.reading.Done():
		return nil, models.ErrClosed
	case <-ctx.Done():
		go c.leave(joined)
		return nil, ctx.Err()
	}
	return joined.list, joined.err
}

func (c *Cache) join(next **refresh) *refresh {
	c.mu.Lock()
	defer c.mu.Unlock()
	if *next == nil {
		*next = &refresh{asked: time.Now(), done: make(chan struct{})}
	}
	(*next).askers++
	return *next
}

// run runs a refresh for every request that has asked by then, unless another request has run it, and gives the turn
// back.
func (c *Cache) run(next **refresh, joined *refresh, read func()) {
	defer func() { <-c.turn }()
	select {
	case <-joined.done:
		return
	default:
	}
	runtime.Gosched() // let requests that are ready join
	c.mu.Lock()
	*next = nil
	c.mu.Unlock()
	defer close(joined.done)
	if joined.err = c.stillFails(joined.asked); joined.err == nil {
		read()
		c.failure = joined.err
	}
}

// answerTime is how long requests may wait for a source that has failed. It takes about as long to fail again, and requests that
// have waited for one failure must not wait for another: each has its answer within 5 s.
const answerTime = 4200 * time.Millisecond

// stillFails returns the failure of the last refresh or question, if it failed and the source does not answer in time now. If it
// answers, the refresh may take longer.
func (c *Cache) stillFails(asked time.Time) error {
	if c.failure == nil {
		return nil
	}
	ctx, cancel := context.WithDeadline(c.reading, asked.Add(answerTime))
	defer cancel()
	_, err := c.source.Unchanged(ctx)
	switch {
	case err == nil, errors.Is(err, ErrNotCached):
		return nil
	case ctx.Err() != nil:
		err = c.failure
	}
	return c.closedOr(err)
}

// leave releases the list on behalf of a request that no longer waits.
func (c *Cache) leave(joined *refresh) {
	select {
	case <-c.reading.Done():
	case <-joined.done:
		if joined.list != nil {
			joined.list.readers.Add(-1)
		}
	}
}

// latest returns the list as of now, or nil if none can be cached.
func (c *Cache) latest() (*list, error) {
	if c.tooLarge.Load() {
		return nil, nil
	}
	if l, err := c.unchanged(); l != nil || err != nil {
		return l, err
	}
	c.spent.Store(0)
	old := c.retire()
	if c.retained() > c.maxBytes {
		return nil, nil
	}
	var err error
	if c.current, err = c.reread(old); c.current != nil {
		c.cost.Store(int64(max(c.current.read, 1<<idBits)))
		c.markFresh()
	}
	return c.current, err
}

// unchanged returns the current list if nothing can have been committed since it was read, and nil otherwise.
func (c *Cache) unchanged() (*list, error) {
	if c.current == nil {
		return nil, nil
	}
	unchanged, err := c.source.Unchanged(c.reading)
	if err != nil && !errors.Is(err, ErrNotCached) {
		return nil, c.closedOr(err)
	}
	if !unchanged {
		c.markStale()
		return nil, nil
	}
	return c.current, nil
}

// closedOr returns an error, or [models.ErrClosed] if Close has ended the refresh.
func (c *Cache) closedOr(err error) error {
	if c.reading.Err() != nil {
		return models.ErrClosed
	}
	return err
}

// retire gives up the current list and returns it. Older lists that no request reads any more are forgotten.
func (c *Cache) retire() (old *list) {
	if old = c.current; old != nil {
		c.retired = append(c.retired, old)
		c.current = nil
	}
	c.retired = slices.DeleteFunc(c.retired, func(l *list) bool { return l.readers.Load() == 0 })
	return old
}

// retained returns how many bytes of retired lists slow readers still use.
func (c *Cache) retained() (total int) {
	counted := map[*segment]bool{} // lists share segments
	for _, l := range c.retired {
		for _, p := range l.segments {
			if !counted[p] {
				counted[p] = true
				total += p.size()
			}
		}
	}
	return total
}

// reread returns the list as one read transaction sees it, made from an old one if possible. It returns nil if the list
// cannot be cached.
func (c *Cache) reread(old *list) (read *list, err error) {
	err = c.source.Transaction(c.reading, func(since Changes) (err error) {
		if old == nil || since.anything {
			read, err = c.readAll()
		} else {
			read, err = c.patch(old, since.ids)
		}
		return err
	})
	c.tooLarge.Store(errors.Is(err, errTooLarge))
	switch {
	case errors.Is(err, errTooLarge), errors.Is(err, ErrNotCached):
		return nil, nil
	case err != nil:
		return nil, c.closedOr(err)
	}
	read.cursor = c.source.Cursor()
	return read, nil
}
