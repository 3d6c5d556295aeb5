package kept

import (
	"cmp"
	"errors"
	"slices"
)

// ErrNotKept: the source cannot tell now whether anybody commits. The list is streamed.
var ErrNotKept = errors.New("no list can be kept now")

// errTooLarge: the list is larger than maxBytes. It is streamed.
var errTooLarge = errors.New("the list is too large to be kept")

// readAgain returns the list as one read transaction sees it, made from an old one where that can be. It is nil when none
// can be kept.
func (k *Keeper) readAgain(old *list) (read *list, err error) {
	err = k.source.Transaction(k.reading, func(since Changes) (err error) {
		read, err = k.read(old, since)
		return err
	})
	k.tooLarge.Store(errors.Is(err, errTooLarge))
	switch {
	case errors.Is(err, errTooLarge), errors.Is(err, ErrNotKept):
		return nil, nil
	case err != nil:
		return nil, k.closedOr(err)
	}
	return read, nil
}

// read is readAgain in its transaction.
func (k *Keeper) read(old *list, since Changes) (*list, error) {
	if old == nil || since.anything {
		return k.readAll()
	}
	return k.mend(old, since.ids)
}

// readAll reads every user.
func (k *Keeper) readAll() (*list, error) {
	var pieces []*piece
	room := k.room()
	for p, err := range cut(nil, k.source.All(), &room) {
		if err != nil {
			return nil, err
		}
		pieces = append(pieces, p)
	}
	return newList(pieces), nil
}

// room returns how many bytes the pieces of a list may have: the array has one more than they have.
func (k *Keeper) room() int { return k.maxBytes - 1 }

// mend reads the pieces again in which users have changed.
func (k *Keeper) mend(old *list, changed []int64) (*list, error) {
	slices.Sort(changed)
	lowest := slices.CompactFunc(changed, func(a, b int64) bool { return pieceNumber(a) == pieceNumber(b) })
	pieces, room := slices.Clone(old.pieces), k.room()
	for _, p := range pieces {
		if _, again := slices.BinarySearchFunc(lowest, p.number, func(id, number int64) int {
			return cmp.Compare(pieceNumber(id), number)
		}); !again {
			room -= len(p.users())
		}
	}
	for _, id := range lowest {
		var err error
		if pieces, err = k.mendPiece(pieces, id, &room); err != nil {
			return nil, err
		}
	}
	if room < 0 { // where only pieces were added to whose users are kept
		return nil, errTooLarge
	}
	l := newList(pieces)
	l.mended = true
	return l, nil
}

// mendPiece reads the piece of an id again, in which no user below it has changed. Where users were only added behind its
// last, what is there is kept, and they are read.
func (k *Keeper) mendPiece(pieces []*piece, lowest int64, room *int) ([]*piece, error) {
	number := pieceNumber(lowest)
	index, found := find(pieces, number)
	var begun *piece
	from := number << idBits
	if found && lowest > pieces[index].last {
		begun, from = &piece{number: number, last: pieces[index].last, json: slices.Clone(pieces[index].users())}, pieces[index].last+1
		*room -= len(begun.json)
	}
	if found {
		pieces = slices.Delete(pieces, index, index+1)
	}
	for p, err := range cut(begun, k.source.Range(from, pieceEnd(number)), room) {
		if err != nil {
			return nil, err
		}
		pieces = slices.Insert(pieces, index, p)
	}
	return pieces, nil
}
