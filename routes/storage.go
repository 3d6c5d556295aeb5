package routes

import (
	"github.com/prometheus/client_golang/prometheus"

	"users-api/models"
)

// storage collects the statistics that the storage engine keeps anyway, when the metrics are read. It implements
// [prometheus.Collector].
type storage struct {
	stats                                                 func() models.Stats
	commits, commitWrites, lists, databaseBytes, walBytes *prometheus.Desc
}

func newStorage(stats func() models.Stats) storage {
	return storage{
		stats:        stats,
		commits:      prometheus.NewDesc("users_api_commits_total", "Commits that held writes.", nil, nil),
		commitWrites: prometheus.NewDesc("users_api_commit_writes", "How many writes shared a commit.", nil, nil),
		lists: prometheus.NewDesc("users_api_list_total",
			"Lists of all users: kept in memory, extended or read for this answer, or too large to be kept and streamed.",
			[]string{"result"}, nil),
		databaseBytes: prometheus.NewDesc("users_api_database_bytes", "Size of the database file.", nil, nil),
		walBytes:      prometheus.NewDesc("users_api_wal_bytes", "Size of the database's -wal file.", nil, nil),
	}
}

// Describe names the metrics.
func (s storage) Describe(descriptions chan<- *prometheus.Desc) {
	for _, one := range []*prometheus.Desc{s.commits, s.commitWrites, s.lists, s.databaseBytes, s.walBytes} {
		descriptions <- one
	}
}

// Collect reads the metrics.
func (s storage) Collect(metrics chan<- prometheus.Metric) {
	stats := s.stats()
	commits, upTo := uint64(0), map[float64]uint64{}
	for i, n := range stats.CommitWrites {
		commits += n
		upTo[float64(uint(1)<<i)] = commits
	}
	counter, gauge := prometheus.CounterValue, prometheus.GaugeValue
	metrics <- prometheus.MustNewConstMetric(s.commits, counter, float64(commits))
	metrics <- prometheus.MustNewConstHistogram(s.commitWrites, commits, float64(stats.Writes), upTo)
	for result, n := range map[string]uint64{
		"kept": stats.Cached, "extended": stats.Patched, "read": stats.Read, "streamed": stats.Streamed,
	} {
		metrics <- prometheus.MustNewConstMetric(s.lists, counter, float64(n), result)
	}
	metrics <- prometheus.MustNewConstMetric(s.databaseBytes, gauge, float64(stats.DatabaseBytes))
	metrics <- prometheus.MustNewConstMetric(s.walBytes, gauge, float64(stats.WALBytes))
}
