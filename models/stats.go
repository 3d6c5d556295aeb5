package models

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// Stats are metrics of a storage engine, counted since it was opened. They are for operators and change nothing.
type Stats struct {
	// CommitWrites counts commits by how many writes shared them: at most 1, then at most 2, 4, 8 and so on up to 512.
	CommitWrites [10]uint64
	// Writes is how many writes these commits held in total.
	Writes uint64
	// How lists were served: Cached from memory without a change, Patched after the changed segments were read again,
	// Read after all users were read, and Streamed while users were read, because the list could not be cached.
	Cached, Patched, Read, Streamed uint64
	// DatabaseBytes and WALBytes are the sizes of the database and of the data not yet moved into it.
	DatabaseBytes, WALBytes int64
	Feed                    FeedStats
	// ByStandby and ByPrimary are how many reads that standbys may answer were answered by one, and by the primary.
	ByStandby, ByPrimary uint64
}

// FeedStats are metrics of the feed of changes. They are zero if changes are not recorded.
type FeedStats struct {
	Entries int64         // about how many there are
	Oldest  time.Time     // when the oldest was written
	Lag     time.Duration // how old the oldest entry is that is not shown yet
}

// Commits counts commits for [Stats].
type Commits struct {
	bySize [len(Stats{}.CommitWrites)]atomic.Uint64
	writes atomic.Uint64
}

// Count counts a commit of this many writes. A commit whose writes were all refused has committed nothing.
func (c *Commits) Count(writes uint) {
	if writes > 0 {
		c.bySize[bits.Len(writes-1)].Add(1)
		c.writes.Add(uint64(writes))
	}
}

// Fill sets the commit counters of stats.
func (c *Commits) Fill(stats *Stats) {
	stats.Writes = c.writes.Load()
	for i := range c.bySize {
		stats.CommitWrites[i] = c.bySize[i].Load()
	}
}
