package routes

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"users-api/models"
)

// admin serves the admin port of a service and returns its URL.
func admin(t *testing.T, s Service, stop context.Context, change ...func(*limits)) string {
	t.Helper()
	l := usual()
	for _, change := range change {
		change(&l)
	}
	accept := listen(t)
	t.Cleanup(s.admin(l, stop, accept))
	return "http://" + accept.Addr().String()
}

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // it is read to its end
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// scrape reads the figures with Prometheus's own parser.
func scrape(t *testing.T, url string) map[string]*dto.MetricFamily {
	t.Helper()
	status, body := get(t, url+"/metrics")
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	if err != nil || status != 200 {
		t.Fatalf("%d %v in %s", status, err, body)
	}
	return families
}

// figures returns the values of a figure by the values of its labels, joined with spaces.
func figures(family *dto.MetricFamily) map[string]float64 {
	values := map[string]float64{}
	for _, metric := range family.GetMetric() {
		labels := ""
		for _, label := range metric.GetLabel() {
			labels += label.GetValue() + " "
		}
		values[strings.TrimSpace(labels)] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue() +
			float64(metric.GetHistogram().GetSampleCount())
	}
	return values
}

func TestRequestsAreCountedByTheirRouteAndNeverByTheirPath(t *testing.T) {
	t.Parallel()
	s := start(t)
	url := admin(t, s.served, t.Context())
	s.create(t, "Ada", "ada@example.org")
	for range 2 {
		s.do(t, "GET", "/api/users/1", "")
	}
	s.do(t, "GET", "/api/users/2", "")
	s.do(t, "GET", "/ada@example.org", "")
	s.do(t, "POST", "/bob@example.org", "")
	s.do(t, "ADA", "/health", "")
	s.do(t, "BOB", "/health", "")
	_ = s.end(t) // an answer is counted after it was sent
	got := scrape(t, url)
	want := map[string]float64{ // code, method, route
		"200 GET /api/users/:id": 2, "404 GET /api/users/:id": 1,
		"404 GET unknown": 1, "404 POST unknown": 1, "405 unknown unknown": 2,
	}
	for labels, n := range figures(got["http_requests_total"]) {
		if n != want[labels] {
			t.Errorf("%q is %v", labels, n)
		}
		delete(want, labels)
	}
	if len(want) != 0 {
		t.Errorf("not counted: %v", want)
	}
	durations := figures(got["http_request_duration_seconds"])
	if durations["GET /api/users/:id"] != 3 || durations["unknown unknown"] != 2 || len(durations) != 4 {
		t.Errorf("the durations are %v", durations)
	}
	if n := figures(got["http_requests_in_flight"])[""]; n != 0 {
		t.Errorf("%v requests are in flight after the end", n)
	}
}

func TestAScrapeHasWhatTheStorageCounts(t *testing.T) {
	t.Parallel()
	stats := models.Stats{
		CommitWrites: [10]uint64{0: 3, 3: 2, 9: 1}, Writes: 400,
		Cached: 10, Patched: 2, Read: 3, Streamed: 4, DatabaseBytes: 8192, WALBytes: 4096,
	}
	s := silent(nil)
	backup := func() time.Time { return time.Unix(1700000000, 0) }
	s.Metrics = NewMetrics("v1", "abc", func() models.Stats { return stats }, backup)
	got := scrape(t, admin(t, s, t.Context()))
	for name, want := range map[string]map[string]float64{
		"users_api_commits_total":                 {"": 6},
		"users_api_commit_writes":                 {"": 6},
		"users_api_list_total":                    {"cached": 10, "patched": 2, "read": 3, "streamed": 4},
		"users_api_database_bytes":                {"": 8192},
		"users_api_wal_bytes":                     {"": 4096},
		"users_api_last_backup_timestamp_seconds": {"": 1700000000},
	} {
		values := figures(got[name])
		for labels, n := range want {
			if values[labels] != n || len(values) != len(want) {
				t.Errorf("%s is %v, want %v", name, values, want)
			}
		}
	}
	sizes := got["users_api_commit_writes"].GetMetric()[0].GetHistogram()
	if sizes.GetSampleSum() != 400 || sizes.GetBucket()[0].GetCumulativeCount() != 3 ||
		sizes.GetBucket()[3].GetUpperBound() != 8 || sizes.GetBucket()[3].GetCumulativeCount() != 5 {
		t.Errorf("the sizes of commits are %v", sizes)
	}
	for _, name := range []string{"users_api_build_info", "go_goroutines", "process_open_fds"} {
		if got[name] == nil {
			t.Errorf("%s is not there", name)
		}
	}
}

func TestReadySaysWhyNoRequestsShouldBeSent(t *testing.T) {
	t.Parallel()
	stopping, stop := context.WithCancel(t.Context())
	stop()
	closed := openUsers(t, newDatabase(t), 0)
	if err := closed.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	database := newDatabase(t)
	lost := openUsers(t, database, 0)
	if err := os.Remove(database.Path); err != nil {
		t.Fatal(err)
	}
	<-lost.Replaced()
	for name, c := range map[string]struct {
		users  *models.Users
		stop   context.Context
		status int
		says   string
	}{
		"ready":                      {openUsers(t, newDatabase(t), 0), t.Context(), 200, "ok"},
		"stopping":                   {openUsers(t, newDatabase(t), 0), stopping, 503, errStopped.Error()},
		"file removed":               {lost, t.Context(), 503, models.ErrReplaced.Error()},
		"storage that does not work": {closed, t.Context(), 503, "storage does not answer: " + models.ErrClosed.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			url := admin(t, silent(c.users), c.stop)
			if status, body := get(t, url+"/readyz"); status != c.status || body != c.says+"\n" {
				t.Errorf("answered %d %s", status, body)
			}
			if status, body := get(t, url+"/livez"); status != 200 || body != "ok\n" {
				t.Errorf("/livez is answered %d %s", status, body)
			}
		})
	}
}

func TestProfilesAreOnTheAdminPortAlone(t *testing.T) {
	t.Parallel()
	s := start(t)
	url := admin(t, s.served, t.Context())
	for _, path := range []string{
		"/metrics", "/livez", "/readyz", "/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/cmdline",
	} {
		if status, _ := get(t, url+path); status != 200 {
			t.Errorf("the admin port answers %s with %d", path, status)
		}
		if status, _ := get(t, s.url+path); status != 404 {
			t.Errorf("the public port answers %s with %d", path, status)
		}
	}
	if status, _ := get(t, url+"/api/users"); status != 404 {
		t.Errorf("the admin port answers /api/users with %d", status)
	}
}

// The admin port gives a client no more time than the public one, and does not count the time of a profile.
func TestTheAdminPortClosesIdleAndStalledConnections(t *testing.T) {
	t.Parallel()
	const short = 100 * time.Millisecond
	url := admin(t, silent(openUsers(t, newDatabase(t), 0)), t.Context(), func(l *limits) { l.header, l.body, l.idle, l.behind = short, short, short, 3*short })
	s := &service{address: strings.TrimPrefix(url, "http://")}
	for name, request := range map[string]string{
		"nothing":        "",
		"half a header":  "GET /livez HTTP/1.1\r\nHost",
		"a body to come": "POST /debug/pprof/symbol HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n",
		"an idle one":    "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			conn := s.dial(t)
			conn.send("%s", request)
			if text, err := conn.rest(); err != nil {
				t.Errorf("%q, then %v", text, err)
			}
		})
	}
	t.Run("a reader that stalls", func(t *testing.T) {
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
		if status, body := get(t, url+"/debug/pprof/trace?seconds=1"); status != 200 || body == "" {
			t.Errorf("answered %d with %d bytes", status, len(body))
		}
	})
}
