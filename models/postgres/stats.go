package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"users-api/models"
)

// Stats returns the metrics of the storage. PostgreSQL keeps its log apart from the table, and for the whole cluster:
// there is no log size of this service alone.
func (u *Users) Stats() models.Stats {
	stats := models.Stats{DatabaseBytes: u.size(), Feed: u.feedStats()}
	u.database.commits.Fill(&stats)
	u.cache.Fill(&stats)
	u.standbys.fill(&stats)
	return stats
}

// size returns how many bytes the table takes with its indexes, or 0 if that cannot be found out at once.
func (u *Users) size() (bytes int64) {
	err := u.database.on(context.Background(), bestEffort, func(ctx context.Context, conn connection) error {
		return conn.value(ctx, &bytes, tableSize)
	})
	if err != nil {
		return 0
	}
	return bytes
}

// feedStats returns the metrics of the feed, or none if they cannot be found out at once.
func (u *Users) feedStats() (feed models.FeedStats) {
	_ = u.database.on(context.Background(), bestEffort, func(ctx context.Context, conn connection) error {
		if !conn.recording {
			return nil
		}
		return conn.query(ctx, func(rows pgx.Rows) error {
			return rows.Scan(&feed.Entries, &feed.Oldest, &feed.Lag)
		}, feedStats)
	})
	return feed
}
