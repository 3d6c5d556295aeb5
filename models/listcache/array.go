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

// Array is all rows at one moment, as one JSON array, in segments that never change: a newer one shares those that are
// the same.
type Array struct {
	Rows   int
	Length int    // of the array, in bytes
	Cursor string // of the feed of changes, at that moment

	// Version identifies the bytes of the array: the same rows have the same version, even after a restart.
	Version func() string

	segments []*segment
	readers  atomic.Int32
}

// segment is the rows whose ids are the same without their last bits, so the same rows always make the same segments
// and the same version. It has at least one row.
type segment struct {
	ids    []int64 // ascending
	starts []int   // where the rows begin in json, and where the last ends
	json   []byte  // a comma before each row, and the end of the array after the last
	sum    func() [sha256.Size]byte
}

const (
	// idBits are the bits in which the ids of a segment differ. 512 rows are sent as fast as 1,024, and faster than
	// 256.
	idBits = 9
	// rowBytes is what a row takes besides its JSON: its place in ids and starts, and in the map of keys.
	rowBytes = 8 + 8 + 40
	// segmentBytes is what a segment takes besides its rows. Where ids are far apart, each row has one of its own.
	segmentBytes = 256
	// usualBytes fits the JSON of most rows. Growing the buffer would take a tenth of the time to read a segment.
	usualBytes = 128
)

// errTooLarge: the list needs more memory than it may take.
var errTooLarge = errors.New("the list is too large to be cached")

// size returns how much of the memory for lists the segment takes.
func (p *segment) size() int { return segmentBytes + len(p.json) + rowBytes*len(p.ids) }

func (p *segment) row(at int) []byte { return p.json[p.starts[at]+1 : p.starts[at+1]] }

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

// After yields the id and the JSON of each row after an id, in ascending or descending order; of all rows if after is
// nil.
func (l *Array) After(after *int64, descending bool) iter.Seq2[int64, []byte] {
	segments := l.segments
	if after != nil {
		index, found := find(segments, *after)
		switch {
		case !descending:
			segments = segments[index:]
		case found:
			segments = segments[:index+1]
		default:
			segments = segments[:index]
		}
	}
	return func(yield func(int64, []byte) bool) {
		for i := range segments {
			p, at, step := segments[i], 0, 1
			if descending {
				p = segments[len(segments)-1-i]
				at, step = len(p.ids)-1, -1
			}
			if after != nil {
				found := false
				if at, found = slices.BinarySearch(p.ids, *after); descending {
					at--
				} else if found {
					at++
				}
			}
			for ; at >= 0 && at < len(p.ids); at += step {
				if !yield(p.ids[at], p.row(at)) {
					return
				}
			}
		}
	}
}

// Row returns the JSON of the row with an id, which must not be changed, or nil.
func (l *Array) Row(id int64) []byte {
	if index, found := find(l.segments, id); found {
		if at, found := slices.BinarySearch(l.segments[index].ids, id); found {
			return l.segments[index].row(at)
		}
	}
	return nil
}

// find returns the index of the segment to which an id belongs, or where it would be inserted.
func find(segments []*segment, id int64) (index int, found bool) {
	return slices.BinarySearchFunc(segments, id>>idBits, func(p *segment, number int64) int {
		return cmp.Compare(p.ids[0]>>idBits, number)
	})
}

// readAll reads every row into a new list, and ends with errTooLarge as soon as they are too large together.
func readAll(s Snapshot, room int) (*Array, error) {
	segments, err := cut(s.Rows(math.MinInt64, math.MaxInt64), usualBytes<<idBits, &room)
	return newArray(segments, s.Cursor), err
}

// patch returns the list after some changes. In each segment it reads the rows from the first that was changed to the
// last.
func (l *Array) patch(s Snapshot, room int) (*Array, error) {
	segments := slices.Clone(l.segments)
	for _, p := range segments {
		room -= p.size()
	}
	for changed := slices.Sorted(slices.Values(s.Changed.ids)); len(changed) > 0; {
		first, n := changed[0], 1
		for n < len(changed) && changed[n]>>idBits == first>>idBits {
			n++
		}
		last := changed[n-1]
		changed = changed[n:]
		index, found := find(segments, first)
		old, end := &segment{}, index
		if found {
			old, end = segments[index], index+1
			room += old.size()
		}
		patched, err := cut(old.replace(first, last, s.Rows(first, last)), len(old.json)+usualBytes, &room)
		if err != nil {
			return nil, err
		}
		segments = slices.Replace(segments, index, end, patched...)
	}
	return newArray(segments, s.Cursor), nil
}

// replace yields the rows of a segment, with others in place of those whose ids are at least first and at most last.
func (p *segment) replace(first, last int64, others iter.Seq2[Row, error]) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for at, id := range p.ids {
			if id < first && !yield(Row{ID: id, JSON: p.row(at)}, nil) {
				return
			}
		}
		for row, err := range others {
			if !yield(row, err) {
				return
			}
		}
		for at, id := range p.ids {
			if id > last && !yield(Row{ID: id, JSON: p.row(at)}, nil) {
				return
			}
		}
	}
}

// cut cuts rows into segments, whose JSON has about as many bytes, and subtracts what they take from room. One segment of
// long rows can be larger than room.
func cut(rows iter.Seq2[Row, error], bytes int, room *int) (segments []*segment, err error) {
	next := segment{
		ids: make([]int64, 0, 1<<idBits), starts: make([]int, 1, 1<<idBits+1), json: make([]byte, 0, bytes),
	}
	for row, err := range rows {
		if err != nil {
			return nil, err
		}
		if len(next.ids) > 0 && next.ids[0]>>idBits != row.ID>>idBits {
			segments = append(segments, next.finish(room))
		}
		next.ids = append(next.ids, row.ID)
		next.json = append(append(next.json, ','), row.JSON...)
		next.starts = append(next.starts, len(next.json))
		if *room -= len(row.JSON) + 1 + rowBytes; *room < 0 {
			return nil, errTooLarge
		}
	}
	if len(next.ids) > 0 {
		segments = append(segments, next.finish(room))
	}
	return segments, nil
}

// finish returns a segment without the memory that was reserved for more rows, and empties it for the next. It includes
// the end of the array: a separate write of that byte took a tenth of the time of a list of 1,000. Its checksum is
// computed when a list is first sent: pages need none.
func (p *segment) finish(room *int) *segment {
	*room -= segmentBytes
	json := slices.Clone(append(p.json, ']'))
	sum := sync.OnceValue(func() [sha256.Size]byte { return sha256.Sum256(json[:len(json)-1]) })
	done := &segment{slices.Clone(p.ids), slices.Clone(p.starts), json, sum}
	p.ids, p.starts, p.json = p.ids[:0], p.starts[:1], p.json[:0]
	return done
}
