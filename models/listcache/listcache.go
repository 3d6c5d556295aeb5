// Package listcache holds a list of rows in memory, as the JSON array that clients get. It knows rows of bytes, and nothing
// of users or databases.
//
// The list is never stale. Before each response the [Cache] asks its [Source]: was anything committed since the list was read?
// Requests that arrive together share the question. If only known rows were committed, these are read again. Otherwise every
// row is: at once for a list, and for pages when they have read enough rows from storage to make it worthwhile.
package listcache

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Source is what a [Cache] reads the list from. Only one goroutine at a time calls its methods.
type Source interface {
	// Unchanged reports whether nothing can have been committed since the last snapshot began.
	Unchanged(ctx context.Context) (bool, error)
	// ReadList calls read in a read transaction. It returns the error of read, or its own, which may be [ErrNotCached].
	ReadList(ctx context.Context, read func(Snapshot) error) error
}

// Snapshot is what a read transaction sees.
type Snapshot struct {
	Changed Changes // what was committed since the last snapshot
	Cursor  string  // where the feed of changes ends, or "" if there is none
	// Rows yields the rows whose ids are at least from and at most to, by ascending id.
	Rows func(from, to int64) iter.Seq2[Row, error]
}

// ErrNotCached: the source cannot tell now whether anything is committed.
var ErrNotCached = errors.New("no list can be cached now")

// ErrClosed: the cache was closed.
var ErrClosed = errors.New("the list cache is closed")

// Changes are what was committed: the rows with certain ids, or anything at all.
type Changes struct {
	Anything bool
	ids      []int64
}

// Add notes a write to a row, before its commit. Noting more than is committed does no harm.
func (c *Changes) Add(id int64) {
	const maxChanges = 4096 // after more, every row is read again
	if c.ids = append(c.ids, id); len(c.ids) > maxChanges {
		*c = Changes{Anything: true}
	}
}

// Merge adds other changes.
func (c *Changes) Merge(other Changes) {
	for _, id := range other.ids {
		c.Add(id)
	}
	c.Anything = c.Anything || other.Anything
}

// Cache holds the list in memory.
type Cache struct {
	source   Source
	maxBytes int
	reading  context.Context // of every refresh, which works for many requests; it ends when Close stops waiting
	end      context.CancelFunc
	turn     chan struct{} // holds a value while a refresh is under way, and after Close

	mu   sync.Mutex
	next *refresh // the refresh that has not begun, if a request has asked for one
	// bypass is closed while pages must be read from storage: there is no list to ask about, or every row is being read.
	bypass chan struct{}
	keys   map[uint64]int64 // the ids of rows by their keys; some may be of rows that were changed since

	spent  atomic.Int64 // how many rows pages have read from storage since every row was last read
	beside atomic.Bool  // every row is being read for pages

	current *Array   // this, and what follows, belongs to the refresh under way
	retired []*Array // older lists that are still being sent
	failure error    // of the last refresh

	tooLarge atomic.Bool // the list did not fit into maxBytes when it was last read

	// How lists were served: from memory, after changed rows were read again, after every row was, and not at all, because there
	// is no room.
	Cached, Patched, Read, Streamed atomic.Uint64
}

// refresh is one question whether the list is still right, and its answer, for every request that asked before it began.
type refresh struct {
	whole  bool  // one of them wants the whole list, whatever that costs
	lists  int32 // how many do
	done   chan struct{}
	list   *Array
	err    error
	served *atomic.Uint64
}

// New returns a cache for a list of at most maxBytes, and for older lists that slow readers still use, with as many again.
func New(source Source, maxBytes int) *Cache {
	c := &Cache{source: source, maxBytes: maxBytes, turn: make(chan struct{}, 1), bypass: make(chan struct{})}
	close(c.bypass)
	c.reading, c.end = context.WithCancel(context.Background())
	return c
}

// Close waits for the refresh under way, which the context ends, and refuses later requests. Then nothing uses the source.
func (c *Cache) Close(ctx context.Context) {
	defer c.end()
	defer context.AfterFunc(ctx, c.end)()
	c.turn <- struct{}{} // it stays there, so no further refresh begins
}

// List returns the list as of a moment after the call, or nil if none can be cached. Release must be called when it is sent.
func (c *Cache) List(ctx context.Context) (l *Array, release func(), err error) {
	l, err = c.get(ctx, true)
	if l == nil {
		if err == nil {
			c.Streamed.Add(1)
		}
		return nil, func() {}, err
	}
	return l, func() { l.readers.Add(-1) }, nil
}

// NoteSize says how large the list is that could not be cached: it may have become small enough.
func (c *Cache) NoteSize(rows, bytes int) { c.tooLarge.Store(bytes+rowBytes*rows > c.maxBytes) }

// Peek returns the list as of a moment after the call, to be used briefly, unless a page of storage is faster: then nil. Cost is
// how many rows the caller then reads from storage.
func (c *Cache) Peek(ctx context.Context, cost int) (*Array, error) {
	l, err := c.get(ctx, false)
	if l != nil || err != nil {
		return l, err
	}
	// After twice as many rows have been read from storage as there are, every row is read into memory beside the pages.
	const worth, first = 2, 10_000
	c.mu.Lock()
	rows := max(first, len(c.keys))
	c.mu.Unlock()
	if c.spent.Add(int64(cost)) > int64(worth*rows) && c.beside.CompareAndSwap(false, true) {
		go func() {
			defer c.beside.Store(false)
			c.spent.Store(0)                              // also if no list can be cached
			if l, _ := c.get(c.reading, true); l != nil { // an error is found again by the next list
				l.readers.Add(-1)
			}
		}()
	}
	return nil, nil
}

// Find returns the JSON of a row that has a key, or had it, and the cursor of its list; nil if there is none in memory.
func (c *Cache) Find(ctx context.Context, key uint64, cost int) (row []byte, cursor string, err error) {
	l, err := c.Peek(ctx, cost)
	if l == nil {
		return nil, "", err
	}
	c.mu.Lock()
	id, found := c.keys[key]
	c.mu.Unlock()
	if found {
		row = l.Row(id)
	}
	return row, l.Cursor, nil
}

// get joins the refresh that has not begun yet: the one under way could miss a commit that the client already knows of. The
// first request to get the turn runs it, on its own goroutine: waking another one would take longer than most refreshes.
func (c *Cache) get(ctx context.Context, whole bool) (*Array, error) {
	arrived := time.Now()
	c.mu.Lock()
	bypass := c.bypass
	if whole {
		bypass = nil
	}
	select {
	case <-bypass:
		c.mu.Unlock()
		return nil, nil
	default:
	}
	if c.next == nil {
		c.next = &refresh{done: make(chan struct{})}
	}
	joined := c.next
	if whole {
		joined.whole = true
		joined.lists++
	}
	c.mu.Unlock()
	select {
	case <-joined.done:
	case <-bypass:
		return nil, nil
	case c.turn <- struct{}{}:
		if c.run(joined, whole, arrived); !whole {
			select {
			case <-joined.done:
			case <-bypass:
				return nil, nil
			}
		}
	case <-c.reading.Done():
		return nil, ErrClosed
	case <-ctx.Done():
		if whole {
			go func() { // it is counted as one of the readers
				select {
				case <-c.reading.Done():
				case <-joined.done:
					if joined.list != nil {
						joined.list.readers.Add(-1)
					}
				}
			}()
		}
		return nil, ctx.Err()
	}
	if whole && joined.list != nil {
		joined.served.Add(1)
	}
	return joined.list, joined.err
}

// run runs a refresh, unless another request has, and gives the turn back. A page does not wait for every row to be read. Requests
// get the turn in the order in which they arrived.
func (c *Cache) run(joined *refresh, whole bool, arrived time.Time) {
	select {
	case <-joined.done:
		<-c.turn
		return
	default:
	}
	runtime.Gosched() // let requests that are ready join
	c.mu.Lock()
	c.next = nil
	c.mu.Unlock()
	read := func() {
		defer func() { <-c.turn }()
		defer close(joined.done)
		if joined.err = c.stillFails(arrived); joined.err == nil {
			joined.list, joined.served, joined.err = c.latest(joined.whole)
			c.failure = joined.err
		}
		if c.reading.Err() != nil && joined.err != nil {
			joined.err = ErrClosed
		}
		if joined.list != nil {
			joined.list.readers.Add(joined.lists)
		}
	}
	if joined.whole && !whole {
		go read()
	} else {
		read()
	}
}

// stillFails returns the failure of the last refresh, if the source does not answer in time now. A source takes about as long
// to fail again, and requests that have waited for one failure must not wait for another: each is answered within 5 s.
func (c *Cache) stillFails(arrived time.Time) error {
	const answerTimeout = 4200 * time.Millisecond
	if c.failure == nil {
		return nil
	}
	ctx, cancel := context.WithDeadline(c.reading, arrived.Add(answerTimeout))
	defer cancel()
	_, err := c.source.Unchanged(ctx)
	switch {
	case err == nil, errors.Is(err, ErrNotCached):
		return nil
	case ctx.Err() != nil:
		return c.failure
	}
	return err
}

// latest returns the list as of now, and what counts how it was made; nil if none can be cached, or it would cost too much.
func (c *Cache) latest(whole bool) (l *Array, served *atomic.Uint64, err error) {
	if c.tooLarge.Load() || c.current == nil && !whole {
		return nil, nil, nil
	}
	if c.current != nil {
		unchanged, err := c.source.Unchanged(c.reading)
		if err != nil && !errors.Is(err, ErrNotCached) {
			return nil, nil, err
		}
		if unchanged {
			return c.current, &c.Cached, nil
		}
	}
	old := c.current
	if old != nil {
		c.retired = append(c.retired, old)
		c.current = nil
	}
	if c.retained() > c.maxBytes {
		c.sendPagesToStorage()
		return nil, nil, nil
	}
	var keys map[uint64]int64
	err = c.source.ReadList(c.reading, func(s Snapshot) (err error) {
		if old != nil && !s.Changed.Anything {
			served = &c.Patched
			l, err = old.patch(s, c.maxBytes, c.noteKey)
			return err
		}
		if c.sendPagesToStorage(); !whole {
			return ErrNotCached
		}
		served = &c.Read
		l, keys, err = readAll(s, c.maxBytes)
		return err
	})
	c.tooLarge.Store(errors.Is(err, errTooLarge))
	if err != nil {
		c.sendPagesToStorage()
		if errors.Is(err, errTooLarge) || errors.Is(err, ErrNotCached) {
			err = nil
		}
		return nil, nil, err
	}
	c.current = l
	if served == &c.Read {
		c.spent.Store(0)
		c.mu.Lock()
		c.keys, c.bypass = keys, make(chan struct{})
		c.mu.Unlock()
	}
	return l, served, nil
}

// sendPagesToStorage lets pages no longer wait for the list, until every row was read.
func (c *Cache) sendPagesToStorage() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.bypass: // they go there already
	default:
		close(c.bypass)
	}
}

// noteKey notes where a row is that was read again. Its earlier key stays until every row is read, or there are too many.
func (c *Cache) noteKey(row Row) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.keys[row.Key] = row.ID; len(c.keys) > c.maxBytes/rowBytes {
		clear(c.keys)
	}
}

// retained returns how many bytes of older lists slow readers still use, and forgets lists that no request reads any more.
func (c *Cache) retained() (total int) {
	c.retired = slices.DeleteFunc(c.retired, func(l *Array) bool { return l.readers.Load() == 0 })
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
