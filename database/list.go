package database

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/singleflight"
	"gorm.io/gorm"
)

// The list of all users is kept as one array of bytes. Before each response the database is asked: was anything
// committed since it was read? If so, all users are read again. Writes know nothing of it.

// listCache is the cache of the list. It is never stale: a request gets the answer to a question that began after it came,
// and all that come before it begins share that answer.
type listCache struct {
	maxBytes int // of the array in memory, and again of those that slow clients still read
	group    singleflight.Group
	asking   sync.Mutex // held while the database is asked; guards what follows
	current  *List
	older    []*List   // that may still be sent
	failedAt time.Time // when the last question failed, and with what
	failed   error
	tryAgain time.Time // the array was larger than maxBytes, and may be smaller by then

	sent *prometheus.CounterVec
}

// List is all users at one moment, by ascending id.
type List struct {
	JSON    []byte // one array
	Version string // identifies it, even after a restart
	Cursor  string // of the feed at that moment; "" if changes are not recorded

	state   string // of the database, before the users were read
	readers atomic.Int64
}

var errTooLarge = errors.New("the list is too large for memory")

// List calls send with the list of all users, as of a moment after the call, and returns its error, unless the list is too
// large for memory: then it is not cached. The list is valid only until send returns.
func (u *Users) List(ctx context.Context, send func(*List) error) (isCached bool, err error) {
	cache, arrived := &u.list, time.Now()
	answer, err, _ := cache.group.Do("", func() (any, error) {
		cache.asking.Lock()
		defer cache.asking.Unlock()
		cache.group.Forget("") // who comes from now on asks again
		if !cache.failedAt.After(arrived) {
			list, err := u.latestList(u.ended)
			if err == nil {
				return list, nil
			}
			cache.failed, cache.failedAt = err, time.Now()
		}
		return nil, cache.failed // a server that is silent for 4 s must not be asked a second time for those who wait
	})
	list, _ := answer.(*List)
	switch {
	case err != nil:
		return false, u.storageError(ctx, err)
	case list == nil:
		u.list.sent.WithLabelValues("uncached").Inc()
		return false, nil
	}
	list.readers.Add(1)
	defer list.readers.Add(-1)
	return true, send(list)
}

// latestList returns the list as of now, or nil. The caller holds asking.
func (u *Users) latestList(ctx context.Context) (*List, error) {
	cache, began := &u.list, time.Now()
	if began.Before(cache.tryAgain) {
		return nil, nil
	}
	state, err := u.pool.state(ctx)
	if err != nil {
		return nil, err
	}
	if cache.current != nil && state != "" && cache.current.state == state {
		cache.sent.WithLabelValues("cached").Inc()
		return cache.current, nil
	}
	size := 0
	if cache.current != nil {
		size = len(cache.current.JSON) + 1<<10 // a new array is seldom much longer
		cache.older, cache.current = append(cache.older, cache.current), nil
	}
	cache.older = slices.DeleteFunc(cache.older, func(older *List) bool { return older.readers.Load() == 0 })
	held := 0
	for _, older := range cache.older {
		held += len(older.JSON)
	}
	if state == "" || held > cache.maxBytes {
		return nil, nil
	}
	read, err := u.readList(ctx, size)
	switch {
	case errors.Is(err, errTooLarge):
		cache.tryAgain = time.Now().Add(10 * time.Since(began)) // so that it takes a tenth of the time at most
		return nil, nil
	case err != nil:
		return nil, err
	}
	cache.sent.WithLabelValues("read").Inc()
	read.state, cache.current = state, read
	return read, nil
}

// readList reads all users. It gives up when the next ones take longer than a short read may.
func (u *Users) readList(ctx context.Context, size int) (list *List, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := time.AfterFunc(answerTimeout, func() { cancel(errSlow) })
	defer stall.Stop()
	err = u.pool.snapshot(ctx, func(tx *gorm.DB) error {
		list = &List{JSON: append(make([]byte, 0, size), '[')}
		if list.Cursor, err = u.cursor(tx); err != nil {
			return err
		}
		users := 0
		for user, err := range u.each(tx.Order("id")) {
			if err != nil {
				return err
			}
			if users++; users > 1 {
				list.JSON = append(list.JSON, ',')
			}
			list.JSON = u.fields.AppendUser(list.JSON, user)
			if len(list.JSON) > u.list.maxBytes {
				return errTooLarge
			}
			if users%500 == 0 {
				stall.Reset(answerTimeout)
			}
		}
		list.JSON = append(list.JSON, ']')
		return nil
	})
	if err != nil {
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	sum := sha256.Sum256(list.JSON)
	list.Version = hex.EncodeToString(sum[:16])
	return list, nil
}
