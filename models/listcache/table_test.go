package listcache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

var ctx = context.Background()

// table is the plainest source: rows in memory, which remembers what was written as storage does.
type table struct {
	mu      sync.Mutex
	rows    []Row // by ascending id
	changed Changes

	silent func(context.Context) error // what each call does instead
	during func(context.Context) error // what a reading does first
	after  func()                      // what it does last
	breaks error                       // what a reading ends with instead of its last row

	calls         atomic.Int32 // under way: there must be no two
	readAll, read int          // how often every row was read, and how many rows
	again         []int64      // the segments that were read again
}

var errTwoCalls = errors.New("two goroutines call the source at once")

func (t *table) Unchanged(ctx context.Context) (bool, error) {
	defer t.calls.Add(-1)
	if t.calls.Add(1) > 1 {
		return false, errTwoCalls
	}
	if t.silent != nil {
		return false, t.silent(ctx)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return false, err
	}
	return !t.changed.Anything && len(t.changed.ids) == 0, nil
}

func (t *table) ReadList(ctx context.Context, read func(Snapshot) error) error {
	defer t.calls.Add(-1)
	if t.calls.Add(1) > 1 {
		return errTwoCalls
	}
	if t.silent != nil {
		return t.silent(ctx)
	}
	if t.after != nil {
		defer t.after()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	changed := t.changed
	t.changed = Changes{}
	rows := func(from, to int64) iter.Seq2[Row, error] { return t.between(ctx, from, to) }
	return read(Snapshot{Changed: changed, Cursor: "cursor", Rows: rows})
}

// between yields rows as a source does, which may fail midway.
func (t *table) between(ctx context.Context, from, to int64) iter.Seq2[Row, error] {
	if from < -1<<62 {
		t.readAll++
	} else {
		t.again = append(t.again, from>>idBits)
	}
	return func(yield func(Row, error) bool) {
		if t.during != nil {
			if err := t.during(ctx); err != nil {
				yield(Row{}, err)
				return
			}
		}
		for i, row := range t.rows {
			if row.ID < from || row.ID > to {
				continue
			}
			if t.read++; t.breaks != nil && i == len(t.rows)-1 {
				yield(Row{}, t.breaks)
				return
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

// put stores a row with an id, in the place of the one that has it.
func (t *table) put(id int64, name string) {
	t.remove(id)
	t.mu.Lock()
	defer t.mu.Unlock()
	at, _ := t.find(id)
	row := Row{ID: id, Key: uint64(len(name)), JSON: fmt.Appendf(nil, `{"id":%d,"name":%q}`, id, name)}
	t.rows = slices.Insert(t.rows, at, row)
}

func (t *table) find(id int64) (at int, found bool) {
	return slices.BinarySearchFunc(t.rows, id, func(row Row, id int64) int { return cmp.Compare(row.ID, id) })
}

// remove deletes the row with an id.
func (t *table) remove(id int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at, found := t.find(id); found {
		t.rows = slices.Delete(slices.Clone(t.rows), at, at+1)
	}
	t.changed.Add(id)
}

// others writes as another program does, which reports nothing.
func (t *table) others(write func()) {
	write()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changed = Changes{Anything: true}
}

// array is some rows as they should be listed.
func array(rows []Row) string {
	var texts []string
	for _, row := range rows {
		texts = append(texts, string(row.JSON))
	}
	return "[" + strings.Join(texts, ",") + "]"
}

// open returns a table and the cache of its list.
func open(maxBytes int) (*table, *Cache) {
	t := &table{}
	return t, New(t, maxBytes)
}

// text is a list as it is sent.
func text(l *Array) string {
	var text []byte
	for chunk := range l.Chunks {
		text = append(text, chunk...)
	}
	return string(text)
}

// isCached asks for the list, and compares it with the table. If none is in memory, the list is read, as storage does then.
func isCached(t testing.TB, source *table, cache *Cache) bool {
	t.Helper()
	l, release, err := cache.List(ctx)
	defer release()
	if err != nil {
		t.Fatal(err)
	}
	want := array(source.rows)
	if l == nil {
		cache.NoteSize(len(source.rows), len(want))
		return false
	}
	if got := text(l); got != want || l.Length != len(want) || l.Rows != len(source.rows) || l.Cursor != "cursor" {
		t.Errorf("the list is %.500s\nwith %d bytes and %d rows, and the table\n%.500s", got, l.Length, l.Rows, want)
	}
	return true
}
