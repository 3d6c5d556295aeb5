package listcache

import (
	"sync/atomic"

	"users-api/models"
)

// stats counts the lists that were served, for [models.Stats].
type stats struct{ kept, extended, read, streamed atomic.Uint64 }

// count counts a response with a list; nil means that it was streamed. A request that shares the refresh of another
// costs nothing, and counts as cached.
func (s *stats) count(l *list) {
	switch {
	case l == nil:
		s.streamed.Add(1)
	case l.counted.Load() || l.counted.Swap(true):
		s.kept.Add(1)
	case l.patched:
		s.extended.Add(1)
	default:
		s.read.Add(1)
	}
}

// Fill sets the list counters of stats.
func (c *Cache) Fill(into *models.Stats) {
	into.Cached, into.Patched = c.stats.kept.Load(), c.stats.extended.Load()
	into.Read, into.Streamed = c.stats.read.Load(), c.stats.streamed.Load()
}
