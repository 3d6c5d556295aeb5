// Package kept keeps the list of all users in memory, for a storage engine that can tell at little cost whether anybody
// has committed.
//
// The list is never stale. Before each answer the [Keeper] asks its [Source] whether what it holds is still what is
// stored, and requests that arrive while it asks share the next answer (rounds.go). After a commit the list is read again
// in one read transaction: those pieces that are known to have changed, or all of them (list.go).
package kept

import (
	"context"
	"iter"
	"slices"
	"sync/atomic"

	"users-api/models"
)

// Source is where a list is read from: a connection that a [Keeper] has for itself. Its methods are called by one
// goroutine at a time.
type Source interface {
	// Unchanged reports whether nothing can have been committed since the last transaction began.
	Unchanged(ctx context.Context) (bool, error)
	// Transaction calls read in a read transaction, with what was committed since the last one began. It returns the
	// error of read, or its own, which may be [ErrNotKept]. It may call read again when the transaction breaks off. The
	// context ends what it does, and what All and Range do within it.
	Transaction(ctx context.Context, read func(since Changes) error) error
	// All returns every user by ascending id, as the transaction sees them.
	All() iter.Seq2[models.User, error]
	// Range returns the users whose ids are at least from and at most to, by ascending id, as the transaction sees them.
	Range(from, to int64) iter.Seq2[models.User, error]
}

// Keeper keeps the list ready.
type Keeper struct {
	rounds
	source   Source
	maxBytes int
	stats    stats
	// reading is the context of every refresh, which works for many requests and must not end with one of them. It ends
	// when Close waits no longer.
	reading context.Context
	end     context.CancelFunc

	tooLarge atomic.Bool // the list was larger than maxBytes when it was last seen

	// What follows belongs to the round under way.
	current    *list
	superseded []*list // older lists that are still being sent to somebody
}

// New returns a keeper that keeps the list while it is no larger than maxBytes, and older lists that slow readers have
// with as many bytes again.
func New(source Source, maxBytes int) *Keeper {
	k := &Keeper{source: source, maxBytes: maxBytes}
	k.reading, k.end = context.WithCancel(context.Background())
	k.turn, k.refresh = make(chan struct{}, 1), k.fresh
	return k
}

// List calls send with the kept list, or where none can be kept with one that is read from users while it is sent. The
// list holds until send returns.
func (k *Keeper) List(ctx context.Context, send func(models.List) error, users iter.Seq2[[]models.User, error]) error {
	kept, err := k.get(ctx)
	if err != nil {
		return err
	}
	k.stats.count(kept)
	if kept == nil {
		return send(models.List{Length: -1, Pieces: k.stream(users)})
	}
	defer kept.release()
	return send(models.List{Version: kept.version, Length: kept.length, Pieces: kept.array})
}

// stream returns users as one JSON array that is read while it is sent. The list may have become small enough to be kept.
func (k *Keeper) stream(users iter.Seq2[[]models.User, error]) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		total := 0
		for piece, err := range models.Array(users) {
			if total += len(piece); !yield(piece, err) || err != nil {
				return
			}
		}
		k.tooLarge.Store(total > k.maxBytes)
	}
}

// Close waits for the refresh under way, and refuses later requests. The context ends the refresh. Nothing uses the
// source any more then.
func (k *Keeper) Close(ctx context.Context) {
	defer k.end()
	defer context.AfterFunc(ctx, k.end)()
	k.rounds.close()
}

// fresh returns the list as of now, or nil when none can be kept.
func (k *Keeper) fresh() (*list, error) {
	if k.tooLarge.Load() {
		return nil, nil
	}
	if k.current != nil {
		unchanged, err := k.source.Unchanged(k.reading)
		if err != nil {
			return nil, k.closedOr(err)
		}
		if unchanged {
			return k.current, nil
		}
	}
	old := k.retire()
	if k.retained() > k.maxBytes {
		return nil, nil
	}
	var err error
	k.current, err = k.readAgain(old)
	return k.current, err
}

// closedOr returns an error, or that of a stop where that was the reason.
func (k *Keeper) closedOr(err error) error {
	if err != nil && k.reading.Err() != nil {
		return models.ErrClosed
	}
	return err
}

// retire gives up the current list and returns it. Those before it that nobody reads any more are forgotten.
func (k *Keeper) retire() (old *list) {
	if old = k.current; old != nil {
		k.superseded = append(k.superseded, old)
		k.current = nil
	}
	k.superseded = slices.DeleteFunc(k.superseded, func(l *list) bool { return l.readers.Load() == 0 })
	return old
}

// retained returns how many bytes slow readers keep of lists that were superseded meanwhile.
func (k *Keeper) retained() (total int) {
	counted := map[*piece]bool{} // lists share pieces
	for _, l := range k.superseded {
		for _, p := range l.pieces {
			if !counted[p] {
				counted[p] = true
				total += len(p.users())
			}
		}
	}
	return total
}
