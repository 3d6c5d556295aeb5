package listcache

import (
	"cmp"
	"errors"
	"slices"
)

// ErrNotCached: the source cannot tell now whether anything is committed. The list is streamed.
var ErrNotCached = errors.New("no list can be kept now")

// errTooLarge: the list is larger than maxBytes. It is streamed.
var errTooLarge = errors.New("the list is too large to be cached")

// reread returns the list as one read transaction sees it, made from an old one if possible. It returns nil if the list
// cannot be cached.
func (c *Cache) reread(old *list) (read *list, err error) {
	err = c.source.Transaction(c.reading, func(since Changes) (err error) {
		read, err = c.read(old, since)
		return err
	})
	c.tooLarge.Store(errors.Is(err, errTooLarge))
	switch {
	case errors.Is(err, errTooLarge), errors.Is(err, ErrNotCached):
		return nil, nil
	case err != nil:
		return nil, c.closedOr(err)
	}
	return read, nil
}

// read does the work of reread inside its transaction.
func (c *Cache) read(old *list, since Changes) (*list, error) {
	if old == nil || since.anything {
		return c.readAll()
	}
	return c.patch(old, since.ids)
}

// readAll reads every user.
func (c *Cache) readAll() (*list, error) {
	var segments []*segment
	room := c.room()
	for p, err := range cut(c.fields, nil, c.source.All(), &room) {
		if err != nil {
			return nil, err
		}
		segments = append(segments, p)
	}
	return newList(segments), nil
}

// room returns how many bytes the segments of a list may have: the array has one byte more.
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
			room -= len(p.users())
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
	l := newList(segments)
	l.patched = true
	return l, nil
}

// patchSegment reads the segment of an id again; no user of it below that id has changed. If all changed ids are above
// its last user, its users stay, and only the users after them are read.
func (c *Cache) patchSegment(segments []*segment, lowest int64, room *int) ([]*segment, error) {
	number := segmentNumber(lowest)
	index, found := find(segments, number)
	var begun *segment
	from := number << idBits
	if found && lowest > segments[index].last {
		begun, from = &segment{number: number, last: segments[index].last, json: slices.Clone(segments[index].users())}, segments[index].last+1
		*room -= len(begun.json)
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
