package models

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"hash"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"gorm.io/gorm"
)

// List is every user at one moment, as one JSON array. It is kept in pieces: in one it would be copied again and again
// while it grows, and a large list left four times its size behind.
type List struct {
	chunks  [][]byte
	length  int
	lastID  int64
	hash    hash.Cloner // of all but the bracket that closes the array
	version string
	readers atomic.Int32
}

// Chunks are the array in pieces. They are shared by all readers and must not be changed.
func (l *List) Chunks() [][]byte { return l.chunks }

// Length is how many bytes the array has.
func (l *List) Length() int { return l.length }

// Version identifies the bytes of the array: it is made from them, so that it outlives a restart.
func (l *List) Version() string { return l.version }

// Release says that the reader is done with the list. Each list that was got must be released once.
func (l *List) Release() { l.readers.Add(-1) }

// keeper keeps the list ready and is never stale: before each answer it asks SQLite whether any connection of any
// process has committed since the list was built.
//
// PRAGMA data_version answers that, in 6 µs, on a connection that itself never writes. Requests that arrive while a
// look is under way share the next one: a look that began before a request arrived could miss a commit that was
// complete by then.
//
// After a commit the list is built anew, in the read transaction in which data_version was asked. When nobody but this
// process has committed, and it has only added users at the end, what is there already is kept and the new users are
// read: see rebuild.
type keeper struct {
	conn      *sql.Conn
	users     *gorm.DB // in the order of the list, on conn
	committer *committer
	maxBytes  int

	mu     sync.Mutex
	next   *look // the look that has not begun, when somebody has asked for one
	closed bool

	tooLarge atomic.Bool // the list was larger than maxBytes when it was last seen

	// turn is held by the look under way, and what follows belongs to it.
	turn       sync.Mutex
	current    *List
	version    int64   // the data_version of conn at which current was built
	foreign    int64   // the data_version of the committer's connection before that: it counts others' commits alone
	plain      bool    // creating a user changes no other row
	superseded []*List // older lists that are still being sent to somebody
	buffer     []byte  // what lists are built in, kept for the next
}

// look is one look at the database, for everybody who asked before it began.
type look struct {
	askers int32
	done   chan struct{}
	list   *List
	err    error
}

func newKeeper(db *gorm.DB, conn *sql.Conn, committer *committer, maxBytes int) *keeper {
	onConn := db.WithContext(context.Background()) // a statement of its own, to put conn into
	onConn.Statement.ConnPool = conn
	return &keeper{conn: conn, users: ordered(onConn), committer: committer, maxBytes: maxBytes}
}

// close waits for the look under way, and refuses those who ask later.
func (k *keeper) close() error {
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	k.turn.Lock()
	defer k.turn.Unlock()
	return k.conn.Close()
}

// seen tells how large the list was when it was last streamed: it may have become small enough to be kept.
func (k *keeper) seen(bytes int) { k.tooLarge.Store(bytes > k.maxBytes) }

// get returns the list as of a moment after the call, or nil when it is too large to be kept.
func (k *keeper) get(ctx context.Context) (*List, error) {
	l, first, err := k.join()
	if err != nil {
		return nil, err
	}
	if first {
		k.look(l) // here and not on a goroutine of its own: waking one takes longer than the look
		return l.list, l.err
	}
	select {
	case <-l.done:
		return l.list, l.err
	case <-ctx.Done():
		go l.leave()
		return nil, ctx.Err()
	}
}

// join returns the look that has not begun yet. The first to ask for it is to do it.
func (k *keeper) join() (l *look, first bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil, false, ErrClosed
	}
	if k.next == nil {
		k.next, first = &look{done: make(chan struct{})}, true
	}
	k.next.askers++
	return k.next, first, nil
}

// leave releases the list of an asker that has gone.
func (l *look) leave() {
	<-l.done
	if l.list != nil {
		l.list.Release()
	}
}

// look waits for the look under way and then looks, for everybody who has asked by then. Who asks from there on may
// know of a commit that it does not see.
func (k *keeper) look(l *look) {
	k.turn.Lock()
	defer k.turn.Unlock()
	runtime.Gosched() // let requests that are ready ask as well
	k.mu.Lock()
	k.next = nil
	k.mu.Unlock()
	defer close(l.done)
	if k.tooLarge.Load() {
		return
	}
	if l.list, l.err = k.fresh(); l.list != nil {
		l.list.readers.Add(l.askers)
	}
}

// fresh returns the list as of now, or nil when it is too large to be kept.
func (k *keeper) fresh() (*List, error) {
	version, err := dataVersion(k.conn)
	if err != nil {
		return nil, err
	}
	if k.current != nil && k.version == version {
		return k.current, nil
	}
	old := k.retire()
	if k.retained() > k.maxBytes {
		return nil, nil
	}
	return k.rebuild(old)
}

// retire gives up the current list and returns it. Those before it that nobody reads any more are forgotten.
func (k *keeper) retire() (old *List) {
	if old = k.current; old != nil {
		k.superseded = append(k.superseded, old)
		k.current = nil
	}
	k.superseded = slices.DeleteFunc(k.superseded, func(l *List) bool { return l.readers.Load() == 0 })
	return old
}

// retained returns how many bytes slow readers keep of lists that were superseded meanwhile.
func (k *keeper) retained() (total int) {
	counted := map[*byte]bool{} // lists share chunks
	for _, l := range k.superseded {
		for _, chunk := range l.chunks {
			if first := &chunk[0]; !counted[first] {
				counted[first] = true
				total += len(chunk)
			}
		}
	}
	return total
}

// rebuild builds the list in one read transaction, and remembers the data_version that goes with it.
func (k *keeper) rebuild(old *List) (*List, error) {
	view, err := k.begin()
	if err != nil {
		return nil, err
	}
	defer func() { _, _ = k.conn.ExecContext(context.Background(), "ROLLBACK") }() // it only reads
	if !k.extends(old, view) {
		old, k.plain = nil, k.isPlain()
	}
	list, err := k.read(old)
	if err != nil {
		return nil, err
	}
	k.tooLarge.Store(list == nil)
	k.current, k.version, k.foreign = list, view.version, view.foreignBefore
	return list, nil
}

// view is what a read transaction sees, and what the committer knew when it began.
type view struct {
	version       int64 // conn's data_version
	foreignBefore int64 // the committer's, before the transaction began
	foreignAfter  int64 // and after
	ours          changes
}

// begin begins a read transaction, if it can while no commit of ours is under way.
func (k *keeper) begin() (v view, err error) {
	still := k.committer.standstill(func() {
		v.foreignBefore, _ = dataVersion(k.committer.conn)
		v.version, err = k.beginNow()
		v.foreignAfter, _ = dataVersion(k.committer.conn)
		v.ours = k.committer.takeChanges()
	})
	if !still {
		v.version, err = k.beginNow()
	}
	return v, err
}

// beginNow begins a read transaction that sees the commits that data_version counts, and none after.
func (k *keeper) beginNow() (version int64, err error) {
	if _, err := k.conn.ExecContext(context.Background(), "BEGIN DEFERRED"); err != nil {
		return 0, err
	}
	if version, err = dataVersion(k.conn); err != nil {
		_, _ = k.conn.ExecContext(context.Background(), "ROLLBACK")
	}
	return version, err
}

// extends reports whether the view shows the old list and nothing but new users behind its last: nobody else has
// committed since it was built, we have only created users, and that changes no other row.
func (k *keeper) extends(old *List, v view) bool {
	return old != nil && old.lastID != 0 && k.plain &&
		k.foreign != unknown && k.foreign == v.foreignAfter && v.ours.onlyAfter(old.lastID)
}

// isPlain reports whether creating a user changes no other row: no trigger, no view, no REPLACE.
func (k *keeper) isPlain() bool {
	var others int
	err := k.conn.QueryRowContext(context.Background(), `SELECT count(*) FROM sqlite_master WHERE type = 'trigger'
		OR name = 'users' COLLATE NOCASE AND (type = 'view' OR sql LIKE '%replace%')`).Scan(&others)
	return err == nil && others == 0
}

// read reads the users that come after an old list, or all. The list is nil when it is larger than maxBytes.
func (k *keeper) read(old *List) (*List, error) {
	list, users := &List{hash: sha256.New().(hash.Cloner)}, k.users
	buffer := append(k.buffer[:0], '[')
	if old != nil {
		list, users, buffer = old.reopen(), after(k.users, old.lastID), buffer[:0]
	}
	for page, err := range pages(users, buffer) {
		if err != nil {
			return nil, err
		}
		k.buffer = page.json
		list.add(page)
		if list.length > k.maxBytes {
			return nil, nil
		}
	}
	list.finish()
	return list, nil
}

// reopen returns a copy of a list that ends without its closing bracket.
func (l *List) reopen() *List {
	running, _ := l.hash.Clone() // a hash in memory cannot fail
	open := &List{chunks: slices.Clone(l.chunks), length: l.length - 1, lastID: l.lastID, hash: running}
	last := &open.chunks[len(open.chunks)-1]
	*last = (*last)[:len(*last)-1]
	return open
}

// add appends a page. Small ones share a chunk.
func (l *List) add(p page) {
	_, _ = l.hash.Write(p.json)
	l.length += len(p.json)
	if p.count > 0 {
		l.lastID = p.lastID
	}
	if last := len(l.chunks) - 1; last >= 0 && len(l.chunks[last])+len(p.json) < pageBytes {
		l.chunks[last] = slices.Concat(l.chunks[last], p.json) // a copy: the chunk may be another list's too
		return
	}
	l.chunks = append(l.chunks, bytes.Clone(p.json))
}

// finish closes the array and makes its version.
func (l *List) finish() {
	bracket := []byte{']'}
	last := &l.chunks[len(l.chunks)-1]
	*last = slices.Concat(*last, bracket)
	l.length++
	whole, _ := l.hash.Clone()
	_, _ = whole.Write(bracket)
	l.version = hex.EncodeToString(whole.Sum(nil)[:16])
}

// unknown is no data_version: SQLite counts from 1.
const unknown = 0

// dataVersion returns a number that changes when another connection has committed than the one that is asked. It asks
// the driver itself: through database/sql it takes twice as long.
func dataVersion(conn *sql.Conn) (version int64, err error) {
	err = conn.Raw(func(conn any) error {
		rows, err := conn.(driver.QueryerContext).QueryContext(context.Background(), "PRAGMA data_version", nil)
		if err != nil {
			return err
		}
		values := make([]driver.Value, 1)
		if err := rows.Next(values); err != nil {
			return errors.Join(err, rows.Close())
		}
		version = values[0].(int64)
		return rows.Close()
	})
	return version, err
}
