package models

import (
	"math/bits"
	"sync/atomic"
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
