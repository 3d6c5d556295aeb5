package listcache

import (
	"context"
	"iter"
	"slices"

	"users-api/models"
)

const (
	// leastWorth and mostWorth are how many times the cost of a refresh pages read from storage before the list is
	// refreshed for them. It doubles while others commit so often that a refresh saves less than it costs.
	leastWorth, mostWorth = 4, 64
	// firstCost is taken for the cost of reading the list for the first time, in users: a few pages are no reason to keep
	// everyone in memory.
	firstCost = 10_000
	// pageCost is what finding the first user of a page costs, in users.
	pageCost = 8
)

// Page returns the page that a query selects if it can be cut out of the cached list, and nil otherwise.
//
// It is as fresh as a list, but never waits for one: while the list is stale, pages come from storage. Once they have
// read several times as many users there as the last refresh did, the list is refreshed beside them: refreshes add
// little to the cost of pages, however often others commit.
func (c *Cache) Page(ctx context.Context, query models.Query) (*models.Page, error) {
	if !query.IsPage() || c.tooLarge.Load() {
		return nil, nil
	}
	l, err := c.fresh(ctx)
	if err != nil {
		return nil, err
	}
	if l == nil {
		c.spend(pageCost + query.Limit)
		return nil, nil
	}
	c.served.Add(int64(pageCost + query.Limit))
	return l.page(query), nil
}

// fresh returns the list if nothing was committed between the last refresh and a moment after the call, and nil
// otherwise. Pages that arrive together share one question. The caller may only use the list briefly: it is not counted
// among its readers.
func (c *Cache) fresh(ctx context.Context) (*list, error) {
	stale := c.staleness()
	select {
	case <-stale:
		return nil, nil
	default:
	}
	joined := c.join(&c.check)
	select {
	case <-joined.done:
	case <-stale: // the turn is taken until the list is read again
		return nil, nil
	case c.turn <- struct{}{}:
		c.run(&c.check, joined, func() { joined.list, joined.err = c.unchanged() })
	case <-c.reading.Done():
		return nil, models.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return joined.list, joined.err
}

func (c *Cache) staleness() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stale
}

// markStale sends pages to storage, also those that wait. Only the refresh under way calls it, and markFresh.
func (c *Cache) markStale() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.stale: // a page has found it out before
	default:
		close(c.stale)
	}
}

func (c *Cache) markFresh() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stale = make(chan struct{})
}

// spend notes that a page reads users from storage, and refreshes the list beside the pages when that has become worth
// it.
func (c *Cache) spend(users int) {
	if c.spent.Add(int64(users)) < c.worth.Load()*c.cost.Load() || !c.beside.CompareAndSwap(false, true) {
		return
	}
	if c.served.Swap(0) < c.cost.Load() {
		c.worth.Store(min(2*c.worth.Load(), mostWorth))
	} else {
		c.worth.Store(leastWorth)
	}
	go func() {
		defer c.beside.Store(false)
		if l, _ := c.get(c.reading); l != nil { // an error is found again by the next list
			l.readers.Add(-1)
		}
	}()
}

// page cuts out the users that a query selects. It returns nil for a page that is too long to be held.
func (l *list) page(query models.Query) *models.Page {
	page := &models.Page{
		JSON: append(make([]byte, 0, min(query.Limit*models.UserBytes, l.length)), '['), Total: int64(l.users), Cursor: l.cursor,
	}
	users := l.ascending
	if query.Descending {
		users = l.descending
	}
	for id, user := range users(query.After) {
		if page.Users == query.Limit {
			page.More = true
			break
		}
		if len(page.JSON) >= models.PageBytes {
			return nil
		}
		if page.Users > 0 {
			page.JSON = append(page.JSON, ',')
		}
		page.JSON = append(page.JSON, user...)
		page.Users, page.Last = page.Users+1, id
	}
	page.JSON = append(page.JSON, ']')
	return page
}

// ascending yields the id and the JSON of each user, or of each above an id.
func (l *list) ascending(after *int64) iter.Seq2[int64, []byte] {
	return func(yield func(int64, []byte) bool) {
		index, at := 0, 0
		if after != nil {
			index, at = l.position(*after)
		}
		for ; index < len(l.segments); index, at = index+1, 0 {
			for p := l.segments[index]; at < len(p.ids); at++ {
				if id := p.id(at); (after == nil || id > *after) && !yield(id, p.user(at)) {
					return
				}
			}
		}
	}
}

// descending yields the id and the JSON of each user from the last to the first, or of each below an id.
func (l *list) descending(after *int64) iter.Seq2[int64, []byte] {
	return func(yield func(int64, []byte) bool) {
		index, at := len(l.segments), 0
		if after != nil {
			index, at = l.position(*after)
		}
		for {
			for at > 0 {
				at--
				if p := l.segments[index]; !yield(p.id(at), p.user(at)) {
					return
				}
			}
			if index == 0 {
				return
			}
			index--
			at = len(l.segments[index].ids)
		}
	}
}

// position returns where the user with an id is or would be: the index of a segment, and a place in it.
func (l *list) position(id int64) (index, at int) {
	index, found := find(l.segments, segmentNumber(id))
	if found {
		at, _ = slices.BinarySearch(l.segments[index].ids, idInSegment(id))
	}
	return index, at
}
