package routes

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"users-api/models"
)

// Prometheus reads how many commits had at most so many writes, and not how many had exactly so many.
func TestTheSizesOfCommitsAreCountedUpToEach(t *testing.T) {
	t.Parallel()
	stats := models.Stats{CommitWrites: [10]uint64{0: 3, 3: 2, 9: 1}, Writes: 400}
	metrics := NewMetrics("v1", "abc", func() models.Stats { return stats }, time.Now)
	families, err := metrics.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(families, func(family *dto.MetricFamily) bool { return family.GetName() == "users_api_commit_writes" })
	sizes := families[at].GetMetric()[0].GetHistogram()
	if sizes.GetSampleSum() != 400 || sizes.GetSampleCount() != 6 || sizes.GetBucket()[0].GetCumulativeCount() != 3 ||
		sizes.GetBucket()[3].GetUpperBound() != 8 || sizes.GetBucket()[3].GetCumulativeCount() != 5 {
		t.Errorf("the sizes of commits are %v", sizes)
	}
}

// The admin port gives a client no more time than the public one, and does not count the time of a profile.
func TestTheAdminPortClosesIdleAndStalledConnections(t *testing.T) {
	t.Parallel()
	const short = 300 * time.Millisecond
	l, accept := usual(), listen(t)
	l.header, l.body, l.idle, l.behind = short, short, short, 3*short
	t.Cleanup(silent(nil).admin(l, t.Context(), accept))
	s := &service{address: accept.Addr().String(), url: "http://" + accept.Addr().String()}
	for name, request := range map[string]string{
		"nothing":        "",
		"half a header":  "GET /livez HTTP/1.1\r\nHost",
		"a body to come": "POST /debug/pprof/symbol HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n",
		"an idle one":    "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := s.dial(t)
			conn.send("%s", request)
			if text, err := conn.rest(); err != nil {
				t.Errorf("%q, then %v", text, err)
			}
		})
	}
	t.Run("a reader that stalls", func(t *testing.T) {
		t.Parallel()
		conn := s.dial(t)
		many := []byte(strings.Repeat("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", 1000))
		var err error
		for err == nil { // no more are read while no response is
			_, err = conn.Write(many)
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("the connection stays open")
		}
	})
	t.Run("a profile", func(t *testing.T) {
		t.Parallel()
		if got := s.do(t, "GET", "/debug/pprof/trace?seconds=1", ""); got.status != 200 || got.body == "" {
			t.Errorf("answered %d with %d bytes", got.status, len(got.body))
		}
	})
}
