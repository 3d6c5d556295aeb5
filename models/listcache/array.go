package listcache

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"iter"
	"math"
	"slices"
	"sync"
	"sync/atomic"
)

// Row is one row of a list.
type Row struct {
	ID   int64
	Key  uint64 // the hash of the text by which [Cache.Find] finds the row
	JSON []byte // valid until the next row is read
}

// Array is all rows at one moment, as one JSON array, in segments that never change: a newer one shares those that are the
// same.
type Array struct {
	Rows   int
	Length int    // of the array, in bytes
	Cursor string // of the feed of changes, at that moment

	// Version identifies the bytes of the array: the same rows have the same version, even after a restart.
	Version func() string

	segments []*segment
	readers  atomic.Int32
}

// segment is the rows whose ids share one segment number, so the same rows always make the same segments and the same version.
type segment struct {
	number int64
	ids    []uint16 // the bits in which the ids of its rows differ, ascending
	starts []uint32 // where the rows begin in json
	json   []byte   // a comma before each row, and the end of the array after the last
	sum    func() [sha256.Size]byte
}

const (
	// idBits are the bits in which the ids of a segment differ. 512 rows are sent as fast as 1,024, and faster than 256.
	idBits = 9
	// rowBytes is what a row takes besides its JSON: its place in ids and starts, and in the map of keys.
	rowBytes = 2 + 4 + 40
	// segmentBytes is what a segment takes besides its rows. Where ids are far apart, each row has one of its own.
	segmentBytes = 256
	// usualBytes fits the JSON of most rows. Growing the buffer would take a tenth of the time to read a segment.
	usualBytes = 128
)

// errTooLarge: the list needs more memory than it may take.
var errTooLarge = errors.New("the list is too large to be cached")

func newSegment(number int64, bytes int) *segment {
	return &segment{number: number, json: make([]byte, 0, bytes), ids: make([]uint16, 0, 1<<idBits), starts: make([]uint32, 0, 1<<idBits)}
}

// size returns how much of the memory for lists the segment takes.
func (p *segment) size() int { return segmentBytes + len(p.json) + rowBytes*len(p.ids) }

// add adds a row, and subtracts its bytes from room. One segment of long rows can be larger than room, or than an offset says.
func (p *segment) add(id int64, json []byte, room *int) error {
	p.ids, p.starts = append(p.ids, uint16(id&(1<<idBits-1))), append(p.starts, uint32(len(p.json)))
	p.json = append(append(p.json, ','), json...)
	if *room -= len(json) + 1 + rowBytes; *room < 0 || uint64(len(p.json)) > math.MaxUint32 {
		return errTooLarge
	}
	return nil
}

// finish returns the segment without the memory that was reserved for more rows. It includes the end of the array: a separate
// write of that byte took a tenth of the time of a list of 1,000. Its checksum is computed when a list is first sent: pages need
// none.
func (p *segment) finish() *segment {
	done := &segment{number: p.number, json: slices.Clone(append(p.json, ']')), ids: slices.Clone(p.ids), starts: slices.Clone(p.starts)}
	done.sum = sync.OnceValue(func() [sha256.Size]byte { return sha256.Sum256(done.json[:len(done.json)-1]) })
	return done
}

func (p *segment) id(at int) int64 { return p.number<<idBits | int64(p.ids[at]) }

func (p *segment) row(at int) []byte {
	end := len(p.json) - 1
	if at+1 < len(p.starts) {
		end = int(p.starts[at+1])
	}
	return p.json[p.starts[at]+1 : end]
}

func newArray(segments []*segment, cursor string) *Array {
	l := &Array{segments: segments, Length: len("[]"), Cursor: cursor}
	for _, p := range segments {
		l.Rows += len(p.ids)
		l.Length += len(p.json) - 1
	}
	if l.Rows > 0 {
		l.Length-- // the first row has no comma before it
	}
	l.Version = sync.OnceValue(func() string {
		sums := sha256.New()
		for _, p := range segments {
			sum := p.sum()
			_, _ = sums.Write(sum[:])
		}
		return hex.EncodeToString(sums.Sum(nil)[:16])
	})
	return l
}

// Chunks yields the array in order, in parts that must not be changed.
func (l *Array) Chunks(yield func([]byte, error) bool) {
	if len(l.segments) == 0 {
		yield([]byte("[]"), nil)
		return
	}
	if !yield([]byte{'['}, nil) {
		return
	}
	for i, p := range l.segments {
		json := p.json
		if i == 0 {
			json = json[1:]
		}
		if i < len(l.segments)-1 {
			json = json[:len(json)-1]
		}
		if !yield(json, nil) {
			return
		}
	}
}

// After yields the id and the JSON of each row after an id, in ascending or descending order; of all rows if after is nil.
func (l *Array) After(after *int64, descending bool) iter.Seq2[int64, []byte] {
	index, at := 0, 0
	if descending {
		index = len(l.segments)
	}
	if after != nil {
		var found bool
		if index, found = l.find(*after >> idBits); found {
			var itself bool
			at, itself = slices.BinarySearch(l.segments[index].ids, uint16(*after&(1<<idBits-1)))
			if itself && !descending {
				at++
			}
		}
	}
	return func(yield func(int64, []byte) bool) {
		for index, at := index, at; !descending && index < len(l.segments); index, at = index+1, 0 {
			for p := l.segments[index]; at < len(p.ids); at++ {
				if !yield(p.id(at), p.row(at)) {
					return
				}
			}
		}
		for index, at := index, at; descending; at = len(l.segments[index].ids) {
			for at--; at >= 0; at-- {
				if p := l.segments[index]; !yield(p.id(at), p.row(at)) {
					return
				}
			}
			if index--; index < 0 {
				return
			}
		}
	}
}

// Row returns the JSON of the row with an id, which must not be changed, or nil.
func (l *Array) Row(id int64) []byte {
	if index, ok := l.find(id >> idBits); ok {
		if at, ok := slices.BinarySearch(l.segments[index].ids, uint16(id&(1<<idBits-1))); ok {
			return l.segments[index].row(at)
		}
	}
	return nil
}

// find returns the index of the segment with a number, or where it would be inserted.
func (l *Array) find(number int64) (index int, found bool) {
	return slices.BinarySearchFunc(l.segments, number, func(p *segment, number int64) int { return cmp.Compare(p.number, number) })
}

// readAll cuts rows into the segments of a new list, and ends with errTooLarge as soon as they are too large together.
func readAll(s Snapshot, room int) (l *Array, keys map[uint64]int64, err error) {
	var segments []*segment
	next := newSegment(0, usualBytes<<idBits)
	end := func() {
		if len(next.ids) > 0 {
			segments = append(segments, next.finish())
			room -= segmentBytes
			next.json, next.ids, next.starts = next.json[:0], next.ids[:0], next.starts[:0]
		}
	}
	keys = map[uint64]int64{}
	for row, err := range s.Rows(math.MinInt64, math.MaxInt64) {
		if err != nil {
			return nil, nil, err
		}
		if number := row.ID >> idBits; number != next.number {
			end()
			next.number = number
		}
		if err := next.add(row.ID, row.JSON, &room); err != nil {
			return nil, nil, err
		}
		keys[row.Key] = row.ID
	}
	end()
	return newArray(segments, s.Cursor), keys, nil
}

// patch reads again in each segment the rows from the first changed id to the last, and copies the others.
func (l *Array) patch(s Snapshot, room int, note func(Row)) (*Array, error) {
	changed := slices.Sorted(slices.Values(s.Changed.ids))
	next := &Array{segments: slices.Clone(l.segments)}
	for _, p := range l.segments {
		room -= p.size()
	}
	for len(changed) > 0 {
		number, n := changed[0]>>idBits, 1
		for n < len(changed) && changed[n]>>idBits == number {
			n++
		}
		index, found := next.find(number)
		old := &segment{number: number}
		if found {
			old = next.segments[index]
			room += old.size()
			next.segments = slices.Delete(next.segments, index, index+1)
		}
		patched, err := old.patch(s.Rows(changed[0], changed[n-1]), changed[0], changed[n-1], &room, note)
		if err != nil {
			return nil, err
		}
		if len(patched.ids) > 0 {
			next.segments = slices.Insert(next.segments, index, patched.finish())
			room -= segmentBytes
		}
		changed = changed[n:]
	}
	return newArray(next.segments, s.Cursor), nil
}

func (p *segment) patch(rows iter.Seq2[Row, error], first, last int64, room *int, note func(Row)) (*segment, error) {
	patched := newSegment(p.number, len(p.json)+usualBytes)
	at := 0
	for ; at < len(p.ids) && p.id(at) < first; at++ {
		if err := patched.add(p.id(at), p.row(at), room); err != nil {
			return nil, err
		}
	}
	for row, err := range rows {
		if err == nil {
			note(row)
			err = patched.add(row.ID, row.JSON, room)
		}
		if err != nil {
			return nil, err
		}
	}
	for ; at < len(p.ids); at++ {
		if p.id(at) <= last {
			continue
		}
		if err := patched.add(p.id(at), p.row(at), room); err != nil {
			return nil, err
		}
	}
	return patched, nil
}
