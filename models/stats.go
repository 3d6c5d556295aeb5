package models

import (
	"math/bits"
	"sync/atomic"
)

// Stats are figures of a storage engine, counted since it was opened. They are for whoever runs the service and change
// nothing.
type Stats struct {
	// CommitWrites counts commits by how many writes shared them: at most 1, then at most 2, 4, 8 and so on to 512.
	CommitWrites [10]uint64
	// Writes is how many writes all these commits held.
	Writes uint64
	// How lists were answered: Kept from memory as they were, Extended after the changed part was read again, Read
	// after all users were read, and Streamed while they were read, because they were too large to be kept.
	Cached, Patched, Read, Streamed uint64
	// DatabaseBytes and WALBytes are the sizes of the database and of what is not moved into it yet.
	DatabaseBytes, WALBytes int64
}

// Commits counts commits as [Stats] has them.
type Commits struct {
	bySize [len(Stats{}.CommitWrites)]atomic.Uint64
	writes atomic.Uint64
}

// Count counts a commit of so many writes. One whose writes were all refused has committed nothing.
func (c *Commits) Count(writes uint) {
	if writes > 0 {
		c.bySize[bits.Len(writes-1)].Add(1)
		c.writes.Add(uint64(writes))
	}
}

// Fill fills in what was counted.
func (c *Commits) Fill(stats *Stats) {
	stats.Writes = c.writes.Load()
	for i := range c.bySize {
		stats.CommitWrites[i] = c.bySize[i].Load()
	}
}
