package listcache

import (
	"cmp"
	"slices"
)

func (c *Cache) readAll() (*list, error) {
	var segments []*segment
	room := c.room()
	for p, err := range cut(c.fields, nil, c.source.All(), &room) {
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

// patch reads the segments again in which users have changed.
func (c *Cache) patch(old *list, changed []int64) (*list, error) {
	slices.Sort(changed)
	lowest := slices.CompactFunc(changed, func(a, b int64) bool { return segmentNumber(a) == segmentNumber(b) })
	segments, room := slices.Clone(old.segments), c.room()
	for _, p := range segments {
		if _, again := slices.BinarySearchFunc(lowest, p.number, func(id, number int64) int {
			return cmp.Compare(segmentNumber(id), number)
		}); !again {
			room -= p.size()
		}
	}
	for _, id := range lowest {
		var err error
		if segments, err = c.patchSegment(segments, id, &room); err != nil {
			return nil, err
		}
	}
	if room < 0 { // cut checks room only when it adds a user
		return nil, errTooLarge
	}
	l := newList(segments, &c.patched)
	l.read = len(lowest) << idBits
	return l, nil
}

// patchSegment reads the segment of an id again; no user of it below that id has changed. If all changed ids are above
// its last user, its users stay, and only the users after them are read.
func (c *Cache) patchSegment(segments []*segment, lowest int64, room *int) ([]*segment, error) {
	number := segmentNumber(lowest)
	index, found := find(segments, number)
	var begun *segment
	from := number << idBits
	if found {
		if last := segments[index].last(); lowest > last {
			begun, from = segments[index].reopen(), last+1
			*room -= segments[index].size()
		}
	}
	if found {
		segments = slices.Delete(segments, index, index+1)
	}
	for p, err := range cut(c.fields, begun, c.source.Range(from, segmentEnd(number)), room) {
		if err != nil {
			return nil, err
		}
		segments = slices.Insert(segments, index, p)
	}
	return segments, nil
}
