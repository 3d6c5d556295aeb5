package sqlite

import (
	"context"
	"database/sql"
	"slices"
	"sync/atomic"

	"users-api/models"
)

// keeper keeps the list ready and is never stale: before each answer it asks SQLite whether any connection of any
// process has committed since the list was read. PRAGMA data_version answers that, in 6 µs, on a connection that itself
// never writes. Requests that arrive while it asks share the next answer: see [rounds].
//
// After a commit the list is read again in one read transaction: those pieces that our own writes have touched, or all
// of them when anything else may have been written.
type keeper struct {
	rounds
	conn      connection
	queries   *queries
	committer *committer
	maxBytes  int

	tooLarge atomic.Bool // the list was larger than maxBytes when it was last seen

	// What follows belongs to the round under way.
	current     *list
	dataVersion int64   // the data_version of conn at which current was read; SQLite counts from 1
	superseded  []*list // older lists that are still being sent to somebody
}

func newKeeper(pool *sql.DB, queries *queries, committer *committer, maxBytes int) (*keeper, error) {
	conn, err := takeConnection(context.Background(), pool)
	if err != nil {
		return nil, err
	}
	k := &keeper{conn: conn, queries: queries, committer: committer, maxBytes: maxBytes}
	k.look = k.fresh
	return k, nil
}

// close waits for the round under way, and refuses those who ask later.
func (k *keeper) close() error {
	k.rounds.close()
	return k.conn.close()
}

// seen tells how large the list was when it was last read: it may have become small enough to be kept.
func (k *keeper) seen(bytes int) { k.tooLarge.Store(bytes > k.maxBytes) }

// fresh returns the list as of now, or nil when it is too large to be kept.
func (k *keeper) fresh() (*list, error) {
	if k.tooLarge.Load() {
		return nil, nil
	}
	version, err := k.conn.dataVersion()
	if err != nil {
		return nil, err
	}
	if k.current != nil && k.dataVersion == version {
		return k.current, nil
	}
	old := k.retire()
	if k.retained() > k.maxBytes {
		return nil, nil
	}
	k.current, err = k.readAgain(old)
	k.tooLarge.Store(err == nil && k.current == nil)
	return k.current, err
}

// retire gives up the current list and returns it. Those before it that nobody reads any more are forgotten.
func (k *keeper) retire() (old *list) {
	if old = k.current; old != nil {
		k.superseded = append(k.superseded, old)
		k.current = nil
	}
	k.superseded = slices.DeleteFunc(k.superseded, func(l *list) bool { return l.readers.Load() == 0 })
	return old
}

// retained returns how many bytes slow readers keep of lists that were superseded meanwhile.
func (k *keeper) retained() (total int) {
	counted := map[*piece]bool{} // lists share pieces
	for _, l := range k.superseded {
		for _, p := range l.pieces {
			if !counted[p] {
				counted[p] = true
				total += len(p.json)
			}
		}
	}
	return total
}

// readAgain returns the list as one read transaction sees it, made from an old one where that can be. It is nil when it
// is larger than maxBytes.
func (k *keeper) readAgain(old *list) (*list, error) {
	defer func() { _, _ = k.conn.exec("ROLLBACK") }() // it only reads
	since, err := k.committer.between(k.beginReading)
	if err != nil {
		return nil, err
	}
	if old == nil || since.anything {
		return k.readAll()
	}
	return k.mend(old, since.ids)
}

// beginReading begins a read transaction that sees the commits that data_version counts, and none after.
func (k *keeper) beginReading() (err error) {
	if _, err = k.conn.exec("BEGIN DEFERRED"); err == nil {
		k.dataVersion, err = k.conn.dataVersion()
	}
	return err
}

// readAll reads every user.
func (k *keeper) readAll() (*list, error) {
	var pieces []*piece
	bytes := 0
	for p, err := range cut(nil, k.queries.read(models.Query{}, k.on)) {
		if err != nil {
			return nil, err
		}
		if bytes += len(p.json); bytes > k.maxBytes {
			return nil, nil
		}
		pieces = append(pieces, p)
	}
	return newList(pieces), nil
}

// on runs read on the keeper's own connection.
func (k *keeper) on(read func(connection) error) error { return read(k.conn) }

// mend reads the pieces again in which users have changed.
func (k *keeper) mend(old *list, changed []int64) (*list, error) {
	pieces := slices.Clone(old.pieces)
	slices.Sort(changed)
	for len(changed) > 0 {
		number, lowest := pieceNumber(changed[0]), changed[0]
		next, _ := slices.BinarySearch(changed, pieceEnd(number))
		for next < len(changed) && pieceNumber(changed[next]) == number {
			next++
		}
		changed = changed[next:]
		var err error
		if pieces, err = k.mendPiece(pieces, number, lowest); err != nil {
			return nil, err
		}
	}
	if l := newList(pieces); l.length <= k.maxBytes {
		l.mended = true
		return l, nil
	}
	return nil, nil
}

// mendPiece reads the piece with a number again, in which no user below the lowest id has changed. Where users were only
// added behind its last, what is there is kept, and they are read.
func (k *keeper) mendPiece(pieces []*piece, number, lowest int64) ([]*piece, error) {
	index, found := find(pieces, number)
	var begun *piece
	from := number << idBits
	if found && lowest > pieces[index].last {
		begun, from = &piece{number: number, last: pieces[index].last, json: slices.Clone(pieces[index].json)}, pieces[index].last+1
	}
	if found {
		pieces = slices.Delete(pieces, index, index+1)
	}
	for p, err := range cut(begun, k.queries.readRange(k.conn, from, pieceEnd(number))) {
		if err != nil {
			return nil, err
		}
		pieces = slices.Insert(pieces, index, p)
	}
	return pieces, nil
}
