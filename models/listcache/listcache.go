// Package listcache holds a list of rows in memory, as the JSON array that clients get. It knows rows of bytes, and
// nothing of users or databases.
//
// The list is never stale. Before each response the [Cache] asks its [Source]: was anything committed since the list
// was read? Requests that arrive together share the question, and join none that has begun: it could miss a commit of
// which the client already knows. If only known rows were committed, these are read again. Otherwise every row is: at
// once for a list, and for pages when they have read enough rows from storage to make it worthwhile. That takes long.
// Meanwhile there is no current list: lists wait for one another, and pages go to storage.
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
	work     context.Context // of every question, which is for many requests; it ends when the cache is closed
	end      context.CancelFunc

	lists group // its turn is held while every row is read, too
	pages group // its turn is held by whoever calls the source, but not while every row is read

	current atomic.Pointer[Array]    // while it is nil, pages go to storage; changed only by the holder of their turn
	failed  atomic.Pointer[question] // the last question, if its answer is an error
	retired []*Array                 // older lists that are still being sent; they belong to the holder of pages' turn

	tooLarge atomic.Bool  // the list did not fit into maxBytes when it was last read
	rows     atomic.Int64 // how many there were when every row was last read
	spent    atomic.Int64 // how many rows pages have read from storage since then

	mu   sync.Mutex
	keys map[uint64]int64 // the ids of rows by their keys; some may be of rows that were changed since

	// How lists were served: from memory, after changed rows were read again, after every row was, and not at all,
	// because there is no room.
	Cached, Patched, Read, Streamed atomic.Uint64
}

// group lets one request at a time ask a question, for itself and for all that arrived before it began. It is what
// singleflight.Group is with Forget when the work begins, but needs no goroutine, and a wait ends with a context.
type group struct {
	whole bool          // its requests want the list, whatever that costs, and read it until they release it
	turn  chan struct{} // holds a value while a question of the group is asked

	mu   sync.Mutex
	next *question // the one that has not begun
}

// question is asked for some requests, and then is its answer.
type question struct {
	arrived time.Time     // when the first of them did
	askers  int32         // how many wait for it
	done    chan struct{} // closed when what follows is known

	list   *Array         // nil if none can be cached, or reading every row would cost too much
	served *atomic.Uint64 // counts the responses that were made like this list
	err    error
	ended  time.Time
}

// New returns a cache for a list of at most maxBytes, and for older lists that slow readers still use, with as many
// again.
func New(source Source, maxBytes int) *Cache {
	c := &Cache{source: source, maxBytes: maxBytes}
	c.lists, c.pages = group{whole: true, turn: make(chan struct{}, 1)}, group{turn: make(chan struct{}, 1)}
	c.work, c.end = context.WithCancel(context.Background())
	return c
}

// Close waits for the question under way, which the context ends, and refuses later requests. Then nothing uses the
// source.
func (c *Cache) Close(ctx context.Context) {
	defer context.AfterFunc(ctx, c.end)()
	c.lists.turn <- struct{}{}
	c.pages.turn <- struct{}{}
	c.end()
	<-c.pages.turn
	<-c.lists.turn
}

// List returns the list as of a moment after the call, or nil if none can be cached. Release must be called when it is
// sent.
func (c *Cache) List(ctx context.Context) (l *Array, release func(), err error) {
	if l, err = c.get(ctx, &c.lists); l == nil {
		return nil, func() {}, err
	}
	return l, func() { l.readers.Add(-1) }, nil
}

// NoteSize says how large the list is that could not be cached: it may have become small enough.
func (c *Cache) NoteSize(rows, bytes int) { c.tooLarge.Store(bytes+rowBytes*rows > c.maxBytes) }

// Peek returns the list as of a moment after the call, to be used briefly, unless a page of storage is faster: then
// nil. Cost is how many rows the caller then reads from storage.
func (c *Cache) Peek(ctx context.Context, cost int) (*Array, error) {
	if c.current.Load() != nil {
		if l, err := c.get(ctx, &c.pages); l != nil || err != nil {
			return l, err
		}
	}
	// After twice as many rows have been read from storage as there are, every row is read into memory beside the
	// pages.
	const worth, first = 2, 10_000
	spent := c.spent.Add(int64(cost))
	if spent > worth*max(first, c.rows.Load()) && c.spent.CompareAndSwap(spent, 0) {
		go func() {
			_, release, _ := c.List(c.work) // an error is found again by the next list
			release()
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

// get returns the answer to a question that begins after the call. Whoever gets the turn first asks it, on its own
// goroutine: waking another one would take longer than most questions. Requests get the turn in the order of arrival.
func (c *Cache) get(ctx context.Context, g *group) (*Array, error) {
	g.mu.Lock()
	if g.next == nil {
		g.next = &question{arrived: time.Now(), done: make(chan struct{})}
	}
	q := g.next
	q.askers++
	g.mu.Unlock()
	select {
	case <-q.done:
	case g.turn <- struct{}{}:
		c.ask(g, q)
	case <-ctx.Done():
		if g.leave(q) {
			return nil, ctx.Err()
		}
	}
	if g.whole && q.list != nil {
		q.served.Add(1)
	}
	return q.list, q.err
}

// leave reports whether a request that no longer waits gets no answer.
func (g *group) leave(q *question) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-q.done:
		return false
	default:
		if q.askers--; q.askers == 0 && g.next == q {
			g.next = nil // who comes later has not waited since then
		}
		return true
	}
}

// ask asks a question, unless another request has, and gives the turn back.
func (c *Cache) ask(g *group, q *question) {
	defer func() { <-g.turn }()
	runtime.Gosched() // let requests that are ready join
	g.mu.Lock()
	isAsked := g.next != q
	if !isAsked {
		g.next = nil
	}
	g.mu.Unlock()
	if isAsked {
		return
	}
	failed := c.stillFails(q)
	if g.whole && failed == nil {
		c.pages.turn <- struct{}{}
		defer func() { <-c.pages.turn }()
		failed = c.stillFails(q)
	}
	defer g.answer(q)
	if failed != nil {
		q.err = failed.err
		return
	}
	if c.work.Err() == nil {
		q.list, q.served, q.err = c.latest(g.whole)
	}
	if c.work.Err() != nil && q.list == nil {
		q.err = ErrClosed
	}
	if c.failed.Store(nil); q.err != nil {
		q.ended = time.Now()
		c.failed.Store(q)
	}
}

// answer ends the wait for a question. Readers are counted before the turn is given back: the next question may replace
// the list.
func (g *group) answer(q *question) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if close(q.done); g.whole && q.list != nil {
		q.list.readers.Add(q.askers)
	}
}

// stillFails returns the last question if it failed, and this one has waited for it. A source that is silent ends a
// question after 4.7 s, and requests must not wait for another: each is told within 5 s.
func (c *Cache) stillFails(q *question) *question {
	const patience = 200 * time.Millisecond
	if failed := c.failed.Load(); failed != nil && failed.ended.Sub(q.arrived) > patience {
		return failed
	}
	return nil
}

// latest returns the list as of now, and what counts how it was made; nil if none can be cached, or it would cost too
// much.
func (c *Cache) latest(whole bool) (l *Array, served *atomic.Uint64, err error) {
	if c.tooLarge.Load() {
		return nil, nil, nil
	}
	old := c.current.Load()
	if old == nil && !whole {
		return nil, nil, nil
	}
	if old != nil {
		unchanged, err := c.source.Unchanged(c.work)
		switch {
		case unchanged:
			return old, &c.Cached, nil
		case err != nil && !errors.Is(err, ErrNotCached):
			return nil, nil, err
		}
		c.retired = append(c.retired, old)
	}
	// A source tells only once what was committed. Without a list that includes it, every row must be read.
	defer func() { c.current.Store(l) }()
	if c.retained() <= c.maxBytes {
		err = c.source.ReadList(c.work, func(s Snapshot) (err error) {
			rows := s.Rows
			s.Rows = func(from, to int64) iter.Seq2[Row, error] { return c.noting(rows(from, to)) }
			switch {
			case old != nil && !s.Changed.Anything:
				served = &c.Patched
				l, err = old.patch(s, c.maxBytes)
			case whole:
				served = &c.Read
				l, err = c.everyRow(s)
			}
			return err
		})
	}
	if err != nil {
		l = nil
	}
	if c.tooLarge.Store(errors.Is(err, errTooLarge)); errors.Is(err, errTooLarge) || errors.Is(err, ErrNotCached) {
		err = nil
	}
	return l, served, err
}

// everyRow reads a new list. That takes long: others have the turn meanwhile, and find no current list.
func (c *Cache) everyRow(s Snapshot) (*Array, error) {
	c.current.Store(nil)
	c.mu.Lock()
	c.keys = map[uint64]int64{}
	c.mu.Unlock()
	<-c.pages.turn
	defer func() { c.pages.turn <- struct{}{} }()
	l, err := readAll(s, c.maxBytes)
	if err == nil {
		c.rows.Store(int64(l.Rows))
		c.spent.Store(0)
	}
	return l, err
}

// noting yields rows, and notes their keys. The earlier key of a row stays until every row is read, or there are too
// many.
func (c *Cache) noting(rows iter.Seq2[Row, error]) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for row, err := range rows {
			if err == nil {
				c.mu.Lock()
				if c.keys[row.Key] = row.ID; len(c.keys) > c.maxBytes/rowBytes {
					clear(c.keys)
				}
				c.mu.Unlock()
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// retained returns how many bytes of older lists slow readers still use, and forgets lists that no request reads any
// more.
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
