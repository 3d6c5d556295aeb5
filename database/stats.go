package database

import (
	"context"
	"time"

	"gorm.io/gorm"
)

// Stats are metrics of the storage, counted since it was opened. They are for operators and change nothing.
type Stats struct {
	CommitWrites [10]uint64 // commits by how many writes shared them: at most 1, then at most 2, 4, 8 and so on up to 512
	Writes       uint64     // how many writes these commits held in total
	// How lists of all users were sent: from memory, after they were read into it, or without it, as they are too large.
	Cached, Read, Uncached uint64
	// DatabaseBytes and WALBytes are the sizes of the database and of the data not yet moved into it.
	DatabaseBytes, WALBytes int64
	// Of the feed: about how many entries there are, when the oldest was written, and how old the oldest is that is not
	// shown yet.
	FeedEntries int64
	FeedOldest  time.Time
	FeedLag     time.Duration
}

// Stats returns the metrics of the storage. Some are missing if the database does not answer within half a second.
func (u *Users) Stats() Stats {
	served := &u.list.served
	stats := Stats{
		Writes: u.commits.writes.Load(),
		Cached: served.cached.Load(), Read: served.read.Load(), Uncached: served.uncached.Load(),
	}
	for i := range stats.CommitWrites {
		stats.CommitWrites[i] = u.commits.bySize[i].Load()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second/2)
	defer cancel()
	u.pool.measure(ctx, &stats)
	if u.keep > 0 {
		var oldest int64
		_ = u.read(ctx, func(db *gorm.DB) error {
			return db.Raw(`SELECT (SELECT max(seq) FROM users_changes) - seq + 1, at FROM users_changes WHERE seq > 0
				ORDER BY seq LIMIT 1`).Row().Scan(&stats.FeedEntries, &oldest)
		})
		if oldest > 0 {
			stats.FeedOldest = time.UnixMilli(oldest)
		}
	}
	return stats
}
