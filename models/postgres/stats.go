package postgres

import (
	"context"
	"math/bits"
	"sync/atomic"

	"users-api/models"
)

// commitStats counts commits as [models.Stats] has them.
type commitStats struct {
	bySize [len(models.Stats{}.CommitWrites)]atomic.Uint64
	writes atomic.Uint64
}

// count counts a commit with so many writes.
func (s *commitStats) count(writes int) {
	s.bySize[bits.Len(uint(writes-1))].Add(1)
	s.writes.Add(uint64(writes))
}

// Stats returns the figures of the storage. PostgreSQL keeps its log apart from the table, and for the whole cluster:
// it has no size that is ours.
func (u *Users) Stats() models.Stats {
	commits := &u.database.stats
	stats := models.Stats{Writes: commits.writes.Load(), DatabaseBytes: u.size()}
	for i := range commits.bySize {
		stats.CommitWrites[i] = commits.bySize[i].Load()
	}
	return stats
}

// size returns how many bytes the table takes with its indexes; 0 where that cannot be told at once.
func (u *Users) size() (bytes int64) {
	err := u.database.on(context.Background(), glance, func(ctx context.Context, conn connection) (err error) {
		bytes, _, err = conn.number(ctx, "SELECT pg_total_relation_size(to_regclass('users'))")
		return err
	})
	if err != nil {
		return 0
	}
	return bytes
}
