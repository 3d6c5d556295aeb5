package models

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"gorm.io/gorm"
)

// List is every user at one moment, as one JSON array. It is kept in the pieces in which it was read: in one it would
// be copied again and again while it grows, and a large list left four times its size behind.
type List struct {
	chunks  [][]byte
	length  int
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
type keeper struct {
	conn     *sql.Conn
	db       *gorm.DB // on conn
	maxBytes int

	mu     sync.Mutex
	next   *look // the look that has not begun, when somebody has asked for one
	closed bool

	tooLarge atomic.Bool // the list was larger than maxBytes when it was last seen

	// turn is held by the look under way, and what follows belongs to it.
	turn       sync.Mutex
	version    int64 // the data_version at which current was built
	current    *List
	buffer     []byte  // what lists are built in, kept for the next
	superseded []*List // older lists that are still being sent to somebody
}

// look is one look at the database, for everybody who asked before it began.
type look struct {
	askers int32
	done   chan struct{}
	list   *List
	err    error
}

func startKeeper(db *gorm.DB, conn *sql.Conn, maxBytes int) *keeper {
	onConn := db.WithContext(context.Background()) // a statement of its own, to put conn into
	onConn.Statement.ConnPool = conn
	return &keeper{conn: conn, db: onConn, maxBytes: maxBytes}
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
	version, err := k.dataVersion()
	if err != nil {
		return nil, err
	}
	if k.current != nil && k.version == version {
		return k.current, nil
	}
	k.retire()
	if k.retained() > k.maxBytes {
		return nil, nil
	}
	return k.rebuild()
}

// retire gives up the current list, and those before it that nobody reads any more.
func (k *keeper) retire() {
	if k.current != nil {
		k.superseded = append(k.superseded, k.current)
		k.current = nil
	}
	k.superseded = slices.DeleteFunc(k.superseded, func(l *List) bool { return l.readers.Load() == 0 })
}

// retained returns how many bytes slow readers keep of lists that were superseded meanwhile.
func (k *keeper) retained() int {
	total := 0
	for _, l := range k.superseded {
		total += l.length
	}
	return total
}

// rebuild reads all users, and the data_version that goes with them, in one read transaction. The list is nil when it
// is larger than maxBytes.
func (k *keeper) rebuild() (*List, error) {
	if _, err := k.conn.ExecContext(context.Background(), "BEGIN DEFERRED"); err != nil {
		return nil, err
	}
	defer func() { _, _ = k.conn.ExecContext(context.Background(), "ROLLBACK") }() // it only reads
	version, err := k.dataVersion()
	if err != nil {
		return nil, err
	}
	list, err := k.read()
	if err != nil {
		return nil, err
	}
	k.tooLarge.Store(list == nil)
	k.version, k.current = version, list
	return list, nil
}

// read reads all users, or nil when they are more than maxBytes.
func (k *keeper) read() (*List, error) {
	list, sum := &List{}, sha256.New()
	for piece, err := range pieces(k.db, k.buffer) {
		if err != nil {
			return nil, err
		}
		k.buffer = piece
		list.length += len(piece)
		if list.length > k.maxBytes {
			return nil, nil
		}
		list.chunks = append(list.chunks, bytes.Clone(piece))
		_, _ = sum.Write(piece) // a hash cannot fail
	}
	list.version = hex.EncodeToString(sum.Sum(nil)[:16])
	return list, nil
}

// dataVersion asks the driver itself: through database/sql it takes twice as long.
func (k *keeper) dataVersion() (version int64, err error) {
	err = k.conn.Raw(func(conn any) error {
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
