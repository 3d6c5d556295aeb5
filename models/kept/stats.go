package kept

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
	case l.mended:
		s.extended.Add(1)
	default:
		s.read.Add(1)
	}
}

// Fill fills in how lists were answered.
func (k *Keeper) Fill(into *models.Stats) {
	into.Kept, into.Extended = k.stats.kept.Load(), k.stats.extended.Load()
	into.Read, into.Streamed = k.stats.read.Load(), k.stats.streamed.Load()
}
