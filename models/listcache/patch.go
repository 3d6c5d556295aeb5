package listcache

import (
	"cmp"
	"slices"

	"users-api/models"
)

func (c *Cache) readAll() (*list, error) {
	var segments []*segment
	room := c.room()
	for p, err := range cut(c.fields, c.source.All(), &room) {
		if err != nil {
			return nil, err
		}
		segments = append(segments, p)
	}
	l := newList(segments, &c.read)
	l.read = l.users
	return l, nil
}

// room returns how much memory the segments of a list may take: the array has one byte more.
func (c *Cache) room() int { return c.maxBytes - 1 }

// span is where users of one segment have changed: all their ids are at least first and at most last.
type span struct{ first, last int64 }

func (s span) segment() int64 { return segmentNumber(s.first) }

// spans returns the spans of changed ids, one for each segment.
func spans(changed []int64) (all []span) {
	slices.Sort(changed)
	for _, id := range changed {
		if n := len(all); n > 0 && all[n-1].segment() == segmentNumber(id) {
			all[n-1].last = id
		} else {
			all = append(all, span{id, id})
		}
	}
	return all
}

// patch makes the segments again in which users have changed.
func (c *Cache) patch(old *list, changed []int64) (*list, error) {
	segments, room, again := slices.Clone(old.segments), c.room(), spans(changed)
	for _, p := range segments {
		if _, found := slices.BinarySearchFunc(again, p.number, func(s span, number int64) int {
			return cmp.Compare(s.segment(), number)
		}); !found {
			room -= p.size()
		}
	}
	read := 0
	for _, s := range again {
		var err error
		if segments, err = c.patchSegment(segments, s, &room); err != nil {
			return nil, err
		}
		read += int(s.last-s.first) + 1
	}
	l := newList(segments, &c.patched)
	l.read = read
	return l, nil
}

func (c *Cache) patchSegment(segments []*segment, s span, room *int) ([]*segment, error) {
	index, found := find(segments, s.segment())
	old := &segment{number: s.segment()}
	if found {
		old = segments[index]
		segments = slices.Delete(segments, index, index+1)
	}
	patched, err := c.remake(old, s, room)
	if err != nil || len(patched.ids) == 0 {
		return segments, err
	}
	return slices.Insert(segments, index, patched.finish()), nil
}

// remake returns a segment in which the users of a span are read again, and the others are copied.
func (c *Cache) remake(old *segment, s span, room *int) (*segment, error) {
	patched := newSegment(old.number, len(old.json)+models.UserBytes)
	before, _ := slices.BinarySearch(old.ids, idInSegment(s.first))
	after, _ := slices.BinarySearch(old.ids, idInSegment(s.last)+1)
	if err := patched.copy(old, 0, before, room); err != nil {
		return nil, err
	}
	var user models.User // one for all: AppendUser makes it escape
	for next, err := range c.source.Range(s.first, s.last) {
		if err != nil {
			return nil, err
		}
		user = next
		if err := patched.add(c.fields, &user, room); err != nil {
			return nil, err
		}
	}
	return patched, patched.copy(old, after, len(old.ids), room)
}
