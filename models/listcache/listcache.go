// Package listcache holds the list of all users in memory, for a storage engine that can tell at little cost whether
// anything was committed.
//
// The list is never stale. Before each response the [Cache] asks its [Source] whether the list still matches what is
// stored, and requests that arrive meanwhile share the next refresh (refresh.go). After a commit, one read transaction
// reads the list again: only the segments that are known to have changed, or all of them (patch.go, list.go). Pages are
// cut out of a list that is unchanged (page.go).
package listcache

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"

	"users-api/models"
)

// Source is what a [Cache] reads the list from. Only one goroutine at a time calls its methods.
type Source interface {
	// Unchanged reports whether nothing can have been committed since the last transaction began. The error may be
	// [ErrNotCached].
	Unchanged(ctx context.Context) (bool, error)
	// Transaction calls read in a read transaction, with what was committed since the last one began. It returns the
	// error of read, or its own, which may be [ErrNotCached]. It may call read again if the transaction breaks off. The
	// context ends its work, and that of All and Range within it.
	Transaction(ctx context.Context, read func(since Changes) error) error
	// Cursor returns where the feed of changes ended when the last transaction began, or "" if there is no feed.
	Cursor() string
	// All returns every user by ascending id, as the transaction sees them.
	All() iter.Seq2[models.User, error]
	// Range returns the users whose ids are at least from and at most to, by ascending id, as the transaction sees them.
	Range(from, to int64) iter.Seq2[models.User, error]
}

// Cache holds the list in memory.
type Cache struct {
	source   Source
	fields   models.Fields
	maxBytes int
	// reading is the context of every refresh. A refresh works for many requests and must not end with one of them. The
	// context ends when Close stops waiting.
	reading context.Context
	end     context.CancelFunc

	tooLarge atomic.Bool // the list was larger than maxBytes when last seen

	mu    sync.Mutex
	next  *refresh      // the refresh that has not begun, if a request has asked for one
	check *refresh      // likewise for pages, which only ask whether the list is unchanged
	stale chan struct{} // closed while there is no list that is known to be unchanged since the last question
	turn  chan struct{} // holds a value while a refresh is under way, and after Close

	// The following fields say when the list is refreshed for pages (page.go). They count users.
	spent  atomic.Int64 // what pages have read from storage since the last refresh
	cost   atomic.Int64 // what that refresh read
	served atomic.Int64 // what pages had from memory since the last refresh for them
	worth  atomic.Int64 // after how many times the cost there is the next
	beside atomic.Bool  // it runs, or waits for its turn

	// The following fields belong to the refresh under way.
	current *list
	retired []*list // older lists that are still being sent
	failure error   // of the last refresh or question

	cached, patched, read, streamed atomic.Uint64 // for [models.Stats]
}

// New returns a cache that holds the list while it is no larger than maxBytes, and older lists that slow readers still
// use, with up to as many bytes again.
func New(source Source, fields models.Fields, maxBytes int) *Cache {
	c := &Cache{source: source, fields: fields, maxBytes: maxBytes, stale: make(chan struct{}), turn: make(chan struct{}, 1)}
	close(c.stale)
	c.cost.Store(firstCost)
	c.worth.Store(leastWorth)
	c.reading, c.end = context.WithCancel(context.Background())
	return c
}

// List calls send with the cached list, or, if none can be cached, with one that is read from users while it is sent.
// The list stays valid until send returns.
func (c *Cache) List(ctx context.Context, send func(models.List) error, users iter.Seq2[[]models.User, error]) error {
	l, err := c.get(ctx)
	if err != nil {
		return err
	}
	if l == nil {
		c.streamed.Add(1)
		return send(models.List{Length: -1, Chunks: c.stream(users)})
	}
	defer l.readers.Add(-1)
	l.counter.Swap(&c.cached).Add(1)
	return send(models.List{Version: l.version, Length: l.length, Cursor: l.cursor, Chunks: l.array})
}

// stream returns users as one JSON array that is read while it is sent. It notes whether the list has become small
// enough to be cached.
func (c *Cache) stream(users iter.Seq2[[]models.User, error]) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		total, array := 0, c.fields.NewArray(0)
		for chunk, err := range array.Chunks(users) {
			if total += len(chunk); !yield(chunk, err) || err != nil {
				return
			}
		}
		c.tooLarge.Store(total+indexBytes*array.Users > c.maxBytes)
	}
}

// Close waits for the refresh under way, and refuses later requests. The context ends the refresh. After Close, nothing
// uses the source.
func (c *Cache) Close(ctx context.Context) {
	defer c.end()
	defer context.AfterFunc(ctx, c.end)()
	c.turn <- struct{}{} // it stays there, so no further refresh begins
}

// Fill sets the list counters of stats.
func (c *Cache) Fill(stats *models.Stats) {
	stats.Cached, stats.Patched = c.cached.Load(), c.patched.Load()
	stats.Read, stats.Streamed = c.read.Load(), c.streamed.Load()
}
