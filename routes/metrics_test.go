package routes

import (
	"slices"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"users-api/database"
	"users-api/tests/program"
)

// Prometheus reads how many commits had at most so many writes, and not how many had exactly so many.
func TestTheSizesOfCommitsAreCountedUpToEach(t *testing.T) {
	t.Parallel()
	stats := database.Stats{CommitWrites: [10]uint64{0: 3, 3: 2, 9: 1}, Writes: 400}
	families, err := NewMetrics("v1", "abc", func() database.Stats { return stats }, time.Now).registry.Gather()
	program.Must(t, err)
	at := slices.IndexFunc(families, func(family *dto.MetricFamily) bool {
		return family.GetName() == "users_api_commit_writes"
	})
	sizes := families[at].GetMetric()[0].GetHistogram()
	if sizes.GetSampleSum() != 400 || sizes.GetSampleCount() != 6 || sizes.GetBucket()[0].GetCumulativeCount() != 3 ||
		sizes.GetBucket()[3].GetUpperBound() != 8 || sizes.GetBucket()[3].GetCumulativeCount() != 5 {
		t.Errorf("the sizes of commits are %v", sizes)
	}
}
