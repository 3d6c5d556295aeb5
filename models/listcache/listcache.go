// Package listcache holds the list of all users in memory, for a storage engine that can tell at little cost whether
// anything was committed.
//
// The list is never stale. Before each response the [Cache] asks its [Source] whether the list still matches what is
// stored, and requests that arrive meanwhile share the next refresh (coalesce.go). After a commit, one read transaction
// reads the list again: only the segments that are known to have changed, or all of them (refresh.go, list.go).
package listcache

import (
	"context"
	"iter"
	"slices"
	"sync/atomic"

	"users-api/models"
)

// Source is what a [Cache] reads the list from. Only one goroutine at a time calls its methods.
type Source interface {
	// Unchanged reports whether nothing can have been committed since the last transaction began.
	Unchanged(ctx context.Context) (bool, error)
	// Transaction calls read in a read transaction, with what was committed since the last one began. It returns the
	// error of read, or its own, which may be [ErrNotCached]. It may call read again if the transaction breaks off. The
	// context ends its work, and that of All and Range within it.
	Transaction(ctx context.Context, read func(since Changes) error) error
	// All returns every user by ascending id, as the transaction sees them.
	All() iter.Seq2[models.User, error]
	// Range returns the users whose ids are at least from and at most to, by ascending id, as the transaction sees them.
	Range(from, to int64) iter.Seq2[models.User, error]
}

// Cache holds the list in memory.
type Cache struct {
	coalescer
	source   Source
	fields   models.Fields
	maxBytes int
	stats    stats
	// reading is the context of every refresh. A refresh works for many requests and must not end with one of them. The
	// context ends when Close stops waiting.
	reading context.Context
	end     context.CancelFunc

	tooLarge atomic.Bool // the list was larger than maxBytes when last seen

	// The following fields belong to the refresh under way.
	current *list
	retired []*list // older lists that are still being sent
}

// New returns a cache that holds the list while it is no larger than maxBytes, and older lists that slow readers still
// use, with up to as many bytes again.
func New(source Source, fields models.Fields, maxBytes int) *Cache {
	c := &Cache{source: source, fields: fields, maxBytes: maxBytes}
	c.reading, c.end = context.WithCancel(context.Background())
	c.turn, c.latest = make(chan struct{}, 1), c.fresh
	return c
}

// List calls send with the cached list, or, if none can be cached, with one that is read from users while it is sent.
// The list stays valid until send returns.
func (c *Cache) List(ctx context.Context, send func(models.List) error, users iter.Seq2[[]models.User, error]) error {
	kept, err := c.get(ctx)
	if err != nil {
		return err
	}
	c.stats.count(kept)
	if kept == nil {
		return send(models.List{Length: -1, Chunks: c.stream(users)})
	}
	defer kept.release()
	return send(models.List{Version: kept.version, Length: kept.length, Chunks: kept.array})
}

// stream returns users as one JSON array that is read while it is sent. It notes whether the list has become small
// enough to be cached.
func (c *Cache) stream(users iter.Seq2[[]models.User, error]) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		total := 0
		for chunk, err := range c.fields.NewArray(0).Chunks(users) {
			if total += len(chunk); !yield(chunk, err) || err != nil {
				return
			}
		}
		c.tooLarge.Store(total > c.maxBytes)
	}
}

// Close waits for the refresh under way, and refuses later requests. The context ends the refresh. After Close, nothing
// uses the source.
func (c *Cache) Close(ctx context.Context) {
	defer c.end()
	defer context.AfterFunc(ctx, c.end)()
	c.coalescer.close()
}

// fresh returns the list as of now, or nil when none can be cached.
func (c *Cache) fresh() (*list, error) {
	if c.tooLarge.Load() {
		return nil, nil
	}
	if c.current != nil {
		unchanged, err := c.source.Unchanged(c.reading)
		if err != nil {
			return nil, c.closedOr(err)
		}
		if unchanged {
			return c.current, nil
		}
	}
	old := c.retire()
	if c.retained() > c.maxBytes {
		return nil, nil
	}
	var err error
	c.current, err = c.reread(old)
	return c.current, err
}

// closedOr returns an error, or [models.ErrClosed] if Close has ended the refreshes.
func (c *Cache) closedOr(err error) error {
	if err != nil && c.reading.Err() != nil {
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
				total += len(p.users())
			}
		}
	}
	return total
}
