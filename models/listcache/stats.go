package listcache

import (
	"sync/atomic"

	"users-api/models"
)

// stats counts answered lists as [models.Stats] has them.
type stats struct{ kept, extended, read, streamed atomic.Uint64 }

// count counts an answer with a list; nil is one that is not kept. Who shares the work of another costs nothing, and
// counts as kept.
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

// Fill fills in how lists were answered.
func (c *Cache) Fill(into *models.Stats) {
	into.Cached, into.Patched = c.stats.kept.Load(), c.stats.extended.Load()
	into.Read, into.Streamed = c.stats.read.Load(), c.stats.streamed.Load()
}
