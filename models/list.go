package models

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"slices"
	"sync"
	"sync/atomic"

	"gorm.io/gorm"
)

// List is every user at one moment, as one JSON array.
type List struct {
	json    []byte
	version string
	readers atomic.Int32
}

// JSON returns the whole array. It is shared by all readers and must not be changed.
func (l *List) JSON() []byte { return l.json }

// Version identifies the bytes of JSON: it is made from them, so that it outlives a restart.
func (l *List) Version() string { return l.version }

// Release says that the reader is done with JSON. Each list that was got must be released once.
func (l *List) Release() { l.readers.Add(-1) }

// keeper keeps the list ready and is never stale: before each answer it asks SQLite whether any connection of any
// process has committed since the list was built.
//
// PRAGMA data_version answers that, in 6 µs, on a connection that itself never writes. Requests that arrive while a
// look is under way share the next one: a look that began before a request arrived could miss a commit that was
// complete by then.
type keeper struct {
	conn     *sql.Conn
	users    *gorm.DB // the users in the order of the list, read through conn
	maxBytes int

	mu     sync.Mutex
	next   *look         // the look that has not begun, when somebody has asked for one
	wake   chan struct{} // says that there is one
	closed bool
	done   chan struct{} // closed when the last look is over

	tooLarge atomic.Bool // the list was larger than maxBytes when it was last seen

	// What follows belongs to the goroutine that looks.
	version    int64 // the data_version at which current was built
	current    *List
	sizeHint   int
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
	k := &keeper{
		conn:     conn,
		users:    ordered(onConn).Session(&gorm.Session{}),
		maxBytes: maxBytes,
		wake:     make(chan struct{}, 1),
		done:     make(chan struct{}),
	}
	go k.loop()
	return k
}

// loop looks for as long as somebody asks. It is one goroutine and not one for each look because SQLite goes deep: each
// new one would grow its stack anew.
func (k *keeper) loop() {
	defer close(k.done)
	for range k.wake {
		k.answer()
	}
}

// close ends the looking: those who have asked are answered, and those who ask later are refused.
func (k *keeper) close() error {
	k.mu.Lock()
	k.closed = true
	close(k.wake)
	k.mu.Unlock()
	<-k.done
	return k.conn.Close()
}

// seen tells how large the list was when it was last streamed: it may have become small enough to be kept.
func (k *keeper) seen(bytes int) { k.tooLarge.Store(bytes > k.maxBytes) }

// get returns the list as of a moment after the call, or nil when it is too large to be kept.
func (k *keeper) get(ctx context.Context) (*List, error) {
	l, err := k.join()
	if err != nil {
		return nil, err
	}
	select {
	case <-l.done:
		return l.list, l.err
	case <-ctx.Done():
		go l.leave()
		return nil, ctx.Err()
	}
}

// join returns the look that has not begun yet, and asks for one when there is none.
func (k *keeper) join() (*look, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil, ErrClosed
	}
	if k.next == nil {
		k.next = &look{done: make(chan struct{})}
		k.wake <- struct{}{} // there is room: the loop takes next and the wake that goes with it
	}
	k.next.askers++
	return k.next, nil
}

// leave releases the list of an asker that has gone.
func (l *look) leave() {
	<-l.done
	if l.list != nil {
		l.list.Release()
	}
}

// answer looks for everybody who has asked so far. Who asks from here on may know of a commit that it does not see.
func (k *keeper) answer() {
	k.mu.Lock()
	l := k.next
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
		total += len(l.json)
	}
	return total
}

// rebuild reads all users, and the data_version that goes with them, in one read transaction. The list is nil when it
// is larger than maxBytes.
func (k *keeper) rebuild() (*List, error) {
	if _, err := k.conn.ExecContext(context.Background(), "BEGIN DEFERRED"); err != nil {
		return nil, err
	}
	defer func() { _, _ = k.conn.ExecContext(context.Background(), "ROLLBACK") }() // it has only read
	version, err := k.dataVersion()
	if err != nil {
		return nil, err
	}
	page, err := readUsers(k.users, append(make([]byte, 0, k.sizeHint), '['), k.maxBytes)
	if err != nil {
		return nil, err
	}
	if !page.complete {
		k.tooLarge.Store(true)
		return nil, nil
	}
	k.version, k.current = version, newList(append(page.json, ']'))
	k.sizeHint = len(k.current.json) + 4096 // the next one is rarely shorter
	return k.current, nil
}

func newList(json []byte) *List {
	sum := sha256.Sum256(json)
	return &List{json: json, version: hex.EncodeToString(sum[:16])}
}

func (k *keeper) dataVersion() (version int64, err error) {
	err = k.conn.QueryRowContext(context.Background(), "PRAGMA data_version").Scan(&version)
	return version, err
}
