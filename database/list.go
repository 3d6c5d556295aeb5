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

// listCache is the cache of the list. It is never stale: a request gets the answer to a question that began after it came,
// and all that come before it begins share that answer.
type listCache struct {
	maxBytes int // of the array in memory, and again of those that slow clients still read
	group    singleflight.Group
	asking   sync.Mutex // held by the question under way, which what follows belongs to
	current  *cachedList
	older    []*cachedList // that may still be sent
	failedAt time.Time     // when the last question failed, and with what
	failed   error

	tooLarge atomic.Bool // the array was larger than maxBytes when the users were last read
	served   struct {    // how lists were sent: from memory, after all users were read, or while they were
		cached, read, streamed atomic.Uint64
	}
}

// cachedList is the list as of one moment.
type cachedList struct {
	models.List
	text    []byte
	state   string // of the database, before the users were read
	readers atomic.Int64
}

var errTooLarge = errors.New("the list is too large for memory")

// List calls send with all users and returns its error. The list is valid only until send returns. It comes from memory,
// or is read while it is sent if it is too large for that.
func (u *Users) List(ctx context.Context, send func(models.List) error) error {
	cached, err := u.cachedList(ctx)
	switch {
	case err != nil:
		return u.storageError(ctx, err)
	case cached == nil:
		u.list.served.streamed.Add(1)
		return send(models.List{Length: -1, Chunks: u.streamed(ctx)})
	}
	cached.readers.Add(1)
	defer cached.readers.Add(-1)
	return send(cached.List)
}

// cachedList returns the list as of a moment after the call, or nil if it cannot be kept in memory.
func (u *Users) cachedList(ctx context.Context) (*cachedList, error) {
	cache, arrived := &u.list, time.Now()
	if cache.tooLarge.Load() {
		return nil, nil
	}
	answer := cache.group.DoChan("", func() (any, error) {
		cache.asking.Lock()
		defer cache.asking.Unlock()
		cache.group.Forget("") // who comes from now on asks again
		if cache.failedAt.After(arrived) {
			return nil, cache.failed // a server that is silent for 4 s must not be asked a second time for those who wait
		}
		answer, err := u.latestList(u.ended)
		if err != nil {
			cache.failed, cache.failedAt = err, time.Now()
		}
		return answer, err
	})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case got := <-answer:
		current, _ := got.Val.(*cachedList)
		return current, got.Err
	}
}

// latestList returns the list as of now, or nil. The caller holds asking.
func (u *Users) latestList(ctx context.Context) (*cachedList, error) {
	cache := &u.list
	state, err := u.pool.state(ctx)
	if err != nil {
		return nil, err
	}
	if cache.current != nil && state != "" && cache.current.state == state {
		cache.served.cached.Add(1)
		return cache.current, nil
	}
	size := 0
	if cache.current != nil {
		size = len(cache.current.text) + 1<<10 // a new array is seldom much longer
		cache.older, cache.current = append(cache.older, cache.current), nil
	}
	cache.older = slices.DeleteFunc(cache.older, func(older *cachedList) bool { return older.readers.Load() == 0 })
	held := 0
	for _, older := range cache.older {
		held += len(older.text)
	}
	if state == "" || held > cache.maxBytes {
		return nil, nil
	}
	read, err := u.readList(ctx, size)
	switch {
	case errors.Is(err, errTooLarge):
		cache.tooLarge.Store(true)
		return nil, nil
	case err != nil:
		return nil, err
	}
	cache.served.read.Add(1)
	read.state, cache.current = state, read
	return read, nil
}

// readList reads all users. It gives up when the next ones take longer than a short read may.
func (u *Users) readList(ctx context.Context, size int) (l *cachedList, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stall := time.AfterFunc(answerTimeout, cancel)
	defer stall.Stop()
	err = u.pool.snapshot(ctx, func(tx *gorm.DB) error {
		l = &cachedList{}
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
