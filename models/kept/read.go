package kept

import (
	"errors"
	"slices"
)

// ErrNotKept: the source cannot tell now whether anybody commits. The list is streamed.
var ErrNotKept = errors.New("no list can be kept now")

// readAgain returns the list as one read transaction sees it, made from an old one where that can be. It is nil when none
// can be kept.
func (k *Keeper) readAgain(old *list) (read *list, err error) {
	err = k.source.Transaction(func(since Changes) (err error) {
		read, err = k.read(old, since)
		return err
	})
	switch {
	case errors.Is(err, ErrNotKept):
		return nil, nil
	case err != nil:
		return nil, err
	}
	k.tooLarge.Store(read == nil)
	return read, nil
}

// read is readAgain in its transaction; nil is a list that is larger than maxBytes.
func (k *Keeper) read(old *list, since Changes) (*list, error) {
	if old == nil || since.anything {
		return k.readAll()
	}
	return k.mend(old, since.ids)
}

// readAll reads every user.
func (k *Keeper) readAll() (*list, error) {
	var pieces []*piece
	bytes := 0
	for p, err := range cut(nil, k.source.All()) {
		if err != nil {
			return nil, err
		}
		if bytes += len(p.users()); bytes >= k.maxBytes { // the list is a byte longer: see newList
			return nil, nil
		}
		pieces = append(pieces, p)
	}
	return newList(pieces), nil
}

// mend reads the pieces again in which users have changed.
func (k *Keeper) mend(old *list, changed []int64) (*list, error) {
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
func (k *Keeper) mendPiece(pieces []*piece, number, lowest int64) ([]*piece, error) {
	index, found := find(pieces, number)
	var begun *piece
	from := number << idBits
	if found && lowest > pieces[index].last {
		begun, from = &piece{number: number, last: pieces[index].last, json: slices.Clone(pieces[index].users())}, pieces[index].last+1
	}
	if found {
		pieces = slices.Delete(pieces, index, index+1)
	}
	for p, err := range cut(begun, k.source.Range(from, pieceEnd(number))) {
		if err != nil {
			return nil, err
		}
		pieces = slices.Insert(pieces, index, p)
	}
	return pieces, nil
}
