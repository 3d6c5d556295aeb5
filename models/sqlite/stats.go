package sqlite

import (
	"math/bits"
	"os"
	"sync/atomic"

	"users-api/models"
)

// commitStats counts commits as [models.Stats] has them.
type commitStats struct {
	bySize [len(models.Stats{}.CommitWrites)]atomic.Uint64
	writes atomic.Uint64
}

// count counts a commit. A batch whose writes were all refused has committed nothing.
func (s *commitStats) count(batch []*write) {
	writes := uint(0)
	for _, w := range batch {
		if w.err == nil {
			writes++
		}
	}
	if writes > 0 {
		s.bySize[bits.Len(writes-1)].Add(1)
		s.writes.Add(uint64(writes))
	}
}

// listStats counts answered lists as [models.Stats] has them.
type listStats struct{ kept, extended, read, streamed atomic.Uint64 }

// count counts an answer with a list; nil is one that is not kept. Who shares the work of another costs nothing, and
// counts as kept.
func (s *listStats) count(l *list) {
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

// Stats returns the figures of the storage.
func (u *Users) Stats() models.Stats {
	commits := &u.committer.stats
	stats := models.Stats{
		Writes:        commits.writes.Load(),
		Kept:          u.stats.kept.Load(),
		Extended:      u.stats.extended.Load(),
		Read:          u.stats.read.Load(),
		Streamed:      u.stats.streamed.Load(),
		DatabaseBytes: u.committer.files.database.size(),
		WALBytes:      u.committer.files.wal.size(),
	}
	for i := range commits.bySize {
		stats.CommitWrites[i] = commits.bySize[i].Load()
	}
	return stats
}

// size returns how large the file is now; 0 where there is none.
func (n named) size() int64 {
	info, err := os.Stat(n.path)
	if err != nil {
		return 0
	}
	return info.Size()
}
