package database

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
	"gorm.io/gorm"

	"users-api/models"
)

// The list of all users is kept as one array of bytes. Before each response the database is asked: was anything
// committed since it was read? If so, all users are read again. Writes know nothing of it.

// list is the cache of the list. It is never stale: a request gets the answer to a question that began after it came,
// and all that come before it begins share that answer.
type list struct {
	maxBytes int // of the array in memory, and again of those that slow clients still read
	group    singleflight.Group
	asking   sync.Mutex // held by the question under way, which what follows belongs to
	current  *listed
	older    []*listed // that may still be sent
	failedAt time.Time // when the last question failed, and with what
	failed   error

	tooLarge atomic.Bool // the array was larger than maxBytes when the users were last read
	served   struct {    // how lists were sent: from memory, after all users were read, or while they were
		cached, read, streamed atomic.Uint64
	}
}

// listed is the list as of one moment.
type listed struct {
	models.List
	text    []byte
	state   string // of the database, before the users were read
	readers atomic.Int64
}

var errTooLarge = errors.New("the list is too large for memory")

// List calls send with all users, and returns what send returns, until when the list stays valid. It comes from memory,
// or is read while it is sent if it is too large for that.
func (u *Users) List(ctx context.Context, send func(models.List) error) error {
	l, err := u.listed(ctx)
	switch {
	case err != nil:
		return u.storageError(ctx, err)
	case l == nil:
		u.list.served.streamed.Add(1)
		return send(models.List{Length: -1, Chunks: u.streamed(ctx)})
	}
	l.readers.Add(1)
	defer l.readers.Add(-1)
	return send(l.List)
}

// listed returns the list as of a moment after the call, or nil if it cannot be kept in memory.
func (u *Users) listed(ctx context.Context) (*listed, error) {
	l, arrived := &u.list, time.Now()
	if l.tooLarge.Load() {
		return nil, nil
	}
	answer := l.group.DoChan("", func() (any, error) {
		l.asking.Lock()
		defer l.asking.Unlock()
		l.group.Forget("") // who comes from now on asks again
		if l.failedAt.After(arrived) {
			return nil, l.failed // a server that is silent for 4 s must not be asked a second time for those who wait
		}
		answer, err := u.latest(u.ended)
		if err != nil {
			l.failed, l.failedAt = err, time.Now()
		}
		return answer, err
	})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case got := <-answer:
		current, _ := got.Val.(*listed)
		return current, got.Err
	}
}

// latest returns the list as of now.
func (u *Users) latest(ctx context.Context) (*listed, error) {
	l := &u.list
	state, err := u.pool.state(ctx)
	if err != nil {
		return nil, err
	}
	if l.current != nil && state != "" && l.current.state == state {
		l.served.cached.Add(1)
		return l.current, nil
	}
	size := 0
	if l.current != nil {
		size = len(l.current.text) + 1<<10 // a new array is seldom much longer
		l.older, l.current = append(l.older, l.current), nil
	}
	l.older = slices.DeleteFunc(l.older, func(older *listed) bool { return older.readers.Load() == 0 })
	held := 0
	for _, older := range l.older {
		held += len(older.text)
	}
	if state == "" || held > l.maxBytes {
		return nil, nil
	}
	read, err := u.readList(ctx, size)
	switch {
	case errors.Is(err, errTooLarge):
		l.tooLarge.Store(true)
		return nil, nil
	case err != nil:
		return nil, err
	}
	l.served.read.Add(1)
	read.state, l.current = state, read
	return read, nil
}

// readList reads all users. It gives up when the next ones take longer than a short read may.
func (u *Users) readList(ctx context.Context, size int) (l *listed, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stall := time.AfterFunc(answerTimeout, cancel)
	defer stall.Stop()
	err = u.pool.snapshot(ctx, func(tx *gorm.DB) error {
		l = &listed{}
		if _, err := u.catalog.table(tx); err != nil {
			return err
		}
		if l.Cursor, err = u.dialect.cursor(tx); err != nil {
			return err
		}
		array := u.fields.NewArray(size)
		for user, err := range u.ahead(u.each(tx.Order("id"))) {
			if err != nil {
				return err
			}
			if array.Add(user) > u.list.maxBytes {
				return errTooLarge
			}
			if array.Users%pageUsers == 0 {
				stall.Reset(answerTimeout)
			}
		}
		l.text = array.End()
		return nil
	})
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(l.text)
	l.Version, l.Length = hex.EncodeToString(sum[:16]), len(l.text)
	l.Chunks = func(yield func([]byte, error) bool) { yield(l.text, nil) }
	return l, nil
}

// streamed yields the list while it is read, and notes whether it has become small enough to be kept.
func (u *Users) streamed(ctx context.Context) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		total, array := 0, u.fields.NewArray(0)
		for chunk, err := range array.Chunks(u.Select(ctx, models.Query{})) {
			if total += len(chunk); !yield(chunk, err) || err != nil {
				return
			}
		}
		u.list.tooLarge.Store(total > u.list.maxBytes)
	}
}
