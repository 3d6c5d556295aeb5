package routes

import (
	"github.com/prometheus/client_golang/prometheus"

	"users-api/models"
)

// storage collects the statistics that the storage engine keeps anyway, when the metrics are read.
type storage func() models.Stats

// Describe implements [prometheus.Collector].
func (s storage) Describe(descriptions chan<- *prometheus.Desc) {
	prometheus.DescribeByCollect(s, descriptions)
}

// Collect implements [prometheus.Collector].
func (s storage) Collect(metrics chan<- prometheus.Metric) {
	stats, counter, gauge := s(), prometheus.CounterValue, prometheus.GaugeValue
	send := func(name, help string, kind prometheus.ValueType, value float64) {
		metrics <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, nil, nil), kind, value)
	}
	commits, upTo := uint64(0), map[float64]uint64{}
	for i, n := range stats.CommitWrites {
		commits += n
		upTo[float64(uint(1)<<i)] = commits
	}
	writes := prometheus.NewDesc("users_api_commit_writes", "How many writes shared a commit.", nil, nil)
	metrics <- prometheus.MustNewConstHistogram(writes, commits, float64(stats.Writes), upTo)
	lists := prometheus.NewDesc("users_api_list_total", "Lists of all users: cached in memory, patched or read for this "+
		"response, or streamed because they are too large.", []string{"result"}, nil)
	for result, n := range map[string]uint64{
		"cached": stats.Cached, "patched": stats.Patched, "read": stats.Read, "streamed": stats.Streamed,
	} {
		metrics <- prometheus.MustNewConstMetric(lists, counter, float64(n), result)
	}
	reads := prometheus.NewDesc("users_api_standby_reads_total", "Reads that a standby in DATABASE_READ_URL may answer, by the "+
		"server that answered.", []string{"server"}, nil)
	metrics <- prometheus.MustNewConstMetric(reads, counter, float64(stats.ByStandby), "standby")
	metrics <- prometheus.MustNewConstMetric(reads, counter, float64(stats.ByPrimary), "primary")
	send("users_api_commits_total", "Commits that held writes.", counter, float64(commits))
	send("users_api_database_bytes", "Size of the database file.", gauge, float64(stats.DatabaseBytes))
	send("users_api_wal_bytes", "Size of the database's -wal file.", gauge, float64(stats.WALBytes))
	sendFeed(send, stats.Feed)
}

// sendFeed sends the metrics of the feed of changes, which are 0 while changes are not recorded.
func sendFeed(send func(name, help string, kind prometheus.ValueType, value float64), feed models.FeedStats) {
	oldest := 0.0
	if !feed.Oldest.IsZero() {
		oldest = float64(feed.Oldest.Unix())
	}
	const gauge = prometheus.GaugeValue
	send("users_api_changes_entries", "About how many entries the feed of changes has.", gauge, float64(feed.Entries))
	send("users_api_changes_oldest_timestamp_seconds", "When the oldest entry was written; 0 when there is none.", gauge, oldest)
	send("users_api_changes_lag_seconds", "How long the feed has been held back by an open transaction on the PostgreSQL server.",
		gauge, feed.Lag.Seconds())
}
