package database

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"gorm.io/gorm"
)

// The metrics of the storage are for operators and change nothing.

func newCommits() prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "users_api_commit_writes", Help: "How many writes shared a commit.", Buckets: prometheus.ExponentialBuckets(1, 2, 10),
	})
}

func newListCounter() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "users_api_list_total", Help: "Lists of all users: cached in memory, read for this response, " +
			"or not kept there because they are too large.",
	}, []string{"result"})
}

// Describe is a method of a [prometheus.Collector].
func (u *Users) Describe(descriptions chan<- *prometheus.Desc) {
	prometheus.DescribeByCollect(u, descriptions)
}

// Collect is the other one. Some metrics are 0 if the database does not answer within half a second.
func (u *Users) Collect(metrics chan<- prometheus.Metric) {
	for _, result := range []string{"cached", "read", "uncached"} {
		u.list.sent.WithLabelValues(result) // is there from the beginning
	}
	u.list.sent.Collect(metrics)
	u.commits.Collect(metrics)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second/2)
	defer cancel()
	database, wal, lag := u.pool.measure(ctx)
	var entries, oldest int64 // 0 while changes are not recorded
	if u.keep > 0 {
		_ = u.read(ctx, func(db *gorm.DB) error {
			return db.Raw(`SELECT (SELECT max(seq) FROM users_changes) - seq + 1, at / 1000 FROM users_changes WHERE seq > 0
				ORDER BY seq LIMIT 1`).Row().Scan(&entries, &oldest)
		})
	}
	send := func(name, help string, value float64) {
		metrics <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, nil, nil), prometheus.GaugeValue, value)
	}
	send("users_api_database_bytes", "Size of the database file.", float64(database))
	send("users_api_wal_bytes", "Size of the database's -wal file.", float64(wal))
	send("users_api_changes_entries", "About how many entries the feed of changes has.", float64(entries))
	send("users_api_changes_oldest_timestamp_seconds", "When the oldest entry was written; 0 when there is none.", float64(oldest))
	send("users_api_changes_lag_seconds", "How long the feed has been held back by an open transaction on the PostgreSQL server.",
		lag.Seconds())
}
