package listcache

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"math"
	"slices"
	"sync/atomic"

	"users-api/models"
)

// A list is all users at one moment, as JSON. It consists of segments that never change, so a newer list shares the
// segments in which nothing has changed, while slow readers still use the older list.
type list struct {
	segments []*segment
	users    int
	length   int
	read     int // how many users were read to make it, at most
	version  string
	cursor   string // of the feed of changes
	readers  atomic.Int32
	counter  atomic.Pointer[atomic.Uint64] // of the next response with it: the first counts how the list was made
}

// segment is the JSON of the users whose ids share one segment number. The same users therefore always make the same
// segments, and the version of a list, which is made from their checksums, is the same after a restart. A [models.Array]
// would not do: a segment is written before it is known whether it begins the array, and lists share it.
type segment struct {
	number int64
	ids    []uint16 // the bits in which the ids of its users differ, ascending
	starts []uint32 // where the users begin in json
	json   []byte   // a comma before each user, and the end of the array after the last
	sum    [sha256.Size]byte
}

// indexBytes is what ids and starts take for each user.
const indexBytes = 2 + 4

// size returns how much of the memory for lists the segment takes.
func (p *segment) size() int { return len(p.users()) + indexBytes*len(p.ids) }

// users returns the JSON without the end of the array.
func (p *segment) users() []byte { return p.json[:len(p.json)-1] }

// idBits: the ids of a segment differ only in this many bits, so it has up to 512 users. Making one again takes 0.1 ms
// of CPU time. A list is sent as fast in segments of 512 as in segments of 1,024; segments of 256 made it slower.
const idBits = 9

// segmentRoom fits the JSON of most segments. Growing the buffer would take a tenth of the time to read a segment.
const segmentRoom = 128 << idBits

func segmentNumber(id int64) int64 { return id >> idBits }

// idInSegment returns the bits of an id that differ within a segment.
func idInSegment(id int64) uint16 { return uint16(id & (1<<idBits - 1)) }

// newSegment returns a segment without users, with memory for some bytes of JSON.
func newSegment(number int64, bytes int) *segment {
	return &segment{
		number: number, json: make([]byte, 0, bytes),
		ids: make([]uint16, 0, 1<<idBits), starts: make([]uint32, 0, 1<<idBits),
	}
}

// add adds a user, and subtracts its bytes from room. It fails as soon as room is used up: one segment of long names can be
// larger than all memory, or than an offset can say.
func (p *segment) add(fields models.Fields, user *models.User, room *int) error {
	before := len(p.json)
	p.ids, p.starts = append(p.ids, idInSegment(user.ID)), append(p.starts, uint32(before))
	p.json = fields.AppendUser(append(p.json, ','), user)
	return p.use(room, len(p.json)-before+indexBytes)
}

// copy adds the users of another segment from one place up to another, as add does.
func (p *segment) copy(from *segment, begin, end int, room *int) error {
	if begin == end {
		return nil
	}
	first, before := int(from.starts[begin]), len(p.json)
	for at := begin; at < end; at++ {
		p.ids, p.starts = append(p.ids, from.ids[at]), append(p.starts, uint32(before+int(from.starts[at])-first))
	}
	p.json = append(p.json, from.json[first:from.end(end-1)]...)
	return p.use(room, len(p.json)-before+indexBytes*(end-begin))
}

// use subtracts the bytes that were added to the segment from room.
func (p *segment) use(room *int, added int) error {
	if *room -= added; *room < 0 || uint64(len(p.json)) > math.MaxUint32 {
		return errTooLarge
	}
	return nil
}

// id returns the id of the user at a place in the segment.
func (p *segment) id(at int) int64 { return p.number<<idBits | int64(p.ids[at]) }

// user returns the JSON of the user at a place in the segment.
func (p *segment) user(at int) []byte { return p.json[p.starts[at]+1 : p.end(at)] }

// end returns where the user at a place ends in the JSON.
func (p *segment) end(at int) int {
	if at+1 < len(p.starts) {
		return int(p.starts[at+1])
	}
	return len(p.json) - 1
}

// cut cuts users into segments, and ends with errTooLarge as soon as they are too large together.
func cut(fields models.Fields, users iter.Seq2[models.User, error], room *int) iter.Seq2[*segment, error] {
	return func(yield func(*segment, error) bool) {
		var begun *segment
		var user models.User // one for all: AppendUser makes it escape
		for next, err := range users {
			if user = next; err == nil {
				if begun != nil && begun.number != segmentNumber(user.ID) {
					if !yield(begun.finish(), nil) {
						return
					}
					begun = nil
				}
				if begun == nil {
					begun = newSegment(segmentNumber(user.ID), segmentRoom)
				}
				err = begun.add(fields, &user, room)
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
		if begun != nil {
			yield(begun.finish(), nil)
		}
	}
}

// finish computes the checksum, and gives back the memory that was reserved for more users, unless that is little:
// copying a large segment would need as much memory again. Each segment includes the end of the array, so that it is
// sent together with the last segment: a separate write of one byte took a tenth of the time of a list of 1,000.
func (p *segment) finish() *segment {
	p.sum = sha256.Sum256(p.json)
	p.ids, p.starts, p.json = trim(p.ids), trim(p.starts), trim(append(p.json, ']'))
	return p
}

func trim[T any](values []T) []T {
	if cap(values)-len(values) > len(values)/8 {
		return slices.Clone(values)
	}
	return values
}

func newList(segments []*segment, counter *atomic.Uint64) *list {
	l := &list{segments: segments, length: len("[]")}
	l.counter.Store(counter)
	sums := sha256.New()
	for _, p := range segments {
		l.users += len(p.ids)
		l.length += len(p.users())
		_, _ = sums.Write(p.sum[:])
	}
	if l.length > len("[]") {
		l.length-- // the first user has no comma before it
	}
	l.version = hex.EncodeToString(sums.Sum(nil)[:16])
	return l
}

// array yields the list as one JSON array, in chunks that must not be changed.
func (l *list) array(yield func([]byte, error) bool) {
	if len(l.segments) == 0 {
		yield([]byte("[]"), nil)
		return
	}
	if !yield([]byte{'['}, nil) {
		return
	}
	for i, p := range l.segments {
		json := p.users()
		if i == len(l.segments)-1 {
			json = p.json
		}
		if i == 0 {
			json = json[1:]
		}
		if !yield(json, nil) {
			return
		}
	}
}

// find returns the index of the segment with a number, or where it would be inserted.
func find(segments []*segment, number int64) (index int, found bool) {
	return slices.BinarySearchFunc(segments, number, func(p *segment, number int64) int {
		return cmp.Compare(p.number, number)
	})
}
