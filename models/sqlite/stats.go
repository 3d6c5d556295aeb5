package sqlite

import (
	"context"
	"os"
	"time"

	"users-api/models"
	"users-api/models/sqlite/dbfile"
)

// Stats returns the metrics of the storage.
func (u *Users) Stats() models.Stats {
	stats := models.Stats{
		DatabaseBytes: u.writer.files.database.size(),
		WALBytes:      u.writer.files.wal.size(),
		Feed:          u.feedStats(),
	}
	u.cache.Fill(&stats)
	u.writer.commits.Fill(&stats)
	return stats
}

// statsTime is how long metrics wait for a connection that reads. Without one, some are missing.
const statsTime = time.Second / 2

func (u *Users) feedStats() (feed models.FeedStats) {
	if !u.writer.conn.recording.Load() {
		return feed
	}
	ctx, cancel := context.WithTimeout(context.Background(), statsTime)
	defer cancel()
	_ = u.reader.on(ctx, models.Query{}, func(conn *connection) error {
		if !conn.table.feed {
			return nil
		}
		return conn.Query(func(r dbfile.Row) error {
			feed.Entries, feed.Oldest = r.Number(0), time.UnixMilli(r.Number(1))
			return nil
		}, feedStats)
	})
	return feed
}

func (n named) size() int64 {
	info, err := os.Stat(n.path)
	if err != nil {
		return 0
	}
	return info.Size()
}
