package routes

import (
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"

	"users-api/config"
)

// serveKeys returns a handler of every middleware in front of one route, which answers 200.
func serveKeys(keys config.Keys) (handler http.Handler, log *lines, metrics *Metrics) {
	log, metrics = &lines{}, noFigures()
	logger := slog.New(slog.NewTextHandler(log, nil))
	s := Service{Access: Access{Keys: config.NewKeyring(keys)}, Metrics: metrics, Logger: logger}
	engine := s.engine(usual())
	engine.Any("/api/users", func(*gin.Context) {})
	return engine, log, metrics
}

func send(handler http.Handler, method string, keys ...string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(method, "/api/users", nil)
	request.Header["X-Api-Key"] = keys
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	return answer
}

func sumOf(key string) [sha256.Size]byte { return sha256.Sum256([]byte(key)) }

func TestAKeyIsRefusedFromTheMidnightAfterItsLastDay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // its clock begins at midnight, 2000-01-01 UTC
		handler, log, _ := serveKeys(config.Keys{
			sumOf(keyA): {Name: "hr-sync", Full: true, Until: time.Date(2000, 1, 2, 0, 0, 0, 0, time.UTC)},
			sumOf(keyB): {Full: true},
		})
		time.Sleep(24*time.Hour - 1)
		if got := send(handler, "GET", keyA); got.Code != 200 || got.Header().Get("X-API-Key-Access") != "full" {
			t.Errorf("on its last day the key is answered %d with %v", got.Code, got.Header())
		}
		time.Sleep(time.Nanosecond)
		for range 2 {
			got := send(handler, "GET", keyA)
			if got.Code != 401 || got.Body.String() != wrongKey || got.Header().Get("X-API-Key-Access") != "" {
				t.Errorf("after it the key is answered %d %s with %v", got.Code, got.Body, got.Header())
			}
			time.Sleep(1000 * time.Hour)
		}
		if got := send(handler, "GET", keyB, keyA); got.Code != 401 {
			t.Errorf("beside another it is answered %d", got.Code)
		}
		if got := send(handler, "GET", keyB); got.Code != 200 {
			t.Errorf("a key without a last day is answered %d", got.Code)
		}
		if refused := strings.Count(log.String(), "status=401"); refused != 3 || strings.Count(log.String(), "key=hr-sync") != 4 {
			t.Errorf("the log does not name the key that has ended:\n%s", log)
		}
	})
}

func TestTheLogAndTheMetricsHaveTheNameOfTheKeyThatCounts(t *testing.T) {
	t.Parallel()
	const named, named2, reads, plain = keyA, keyA + "2", readKey, keyB
	for _, c := range []struct {
		name, method string
		keys         []string
		log, counted string
	}{
		{"a key with a name", "POST", []string{named}, "hr-sync", "hr-sync"},
		{"a key without a name", "POST", []string{plain}, "", "unnamed"},
		{"a read key", "GET", []string{reads}, "report", "report"},
		{"a read key that writes", "POST", []string{reads}, "report", "report"},
		{"two keys of which one only reads", "GET", []string{named, reads}, "report", "report"},
		{"two keys of which one only reads, first", "GET", []string{reads, named}, "report", "report"},
		{"two keys of one name", "GET", []string{named, named2}, "hr-sync", "hr-sync"},
		{"two full keys", "GET", []string{named, plain}, "hr-sync", "hr-sync"},
		{"no key", "GET", nil, "", ""},
		{"a wrong key", "GET", []string{keyA + "x"}, "", ""},
		{"a name", "GET", []string{"hr-sync"}, "", ""},
		{"a wrong key after a good one", "GET", []string{named, "x"}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			handler, log, metrics := serveKeys(config.Keys{
				sumOf(named): {Name: "hr-sync", Full: true}, sumOf(named2): {Name: "hr-sync", Full: true},
				sumOf(plain): {Full: true}, sumOf(reads): {Name: "report"},
			})
			send(handler, c.method, c.keys...)
			_, name, _ := strings.Cut(strings.TrimSuffix(log.String(), "\n"), " key=")
			if name != c.log {
				t.Errorf("the line of the log has the name %q: %s", name, log)
			}
			want := map[string]float64{}
			if c.counted != "" {
				want["key="+c.counted] = 1
			}
			if got := countsByKey(t, metrics); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("counted are %v, want %v", got, want)
			}
		})
	}
}

// countsByKey returns the samples of the metric of requests by key.
func countsByKey(t *testing.T, metrics *Metrics) map[string]float64 {
	t.Helper()
	families, err := metrics.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "http_requests_by_key_total" {
			continue
		}
		for _, sample := range family.GetMetric() {
			label := sample.GetLabel()[0]
			counts[label.GetName()+"="+label.GetValue()] = sample.GetCounter().GetValue()
		}
	}
	return counts
}

// BenchmarkKeys is what a request costs without keys, with one, and with 1,000.
func BenchmarkKeys(b *testing.B) {
	for _, n := range []int{0, 1, 1000} {
		keys := config.Keys{}
		for i := range n {
			keys[sumOf(fmt.Sprint(keyA, i))] = config.Key{Name: fmt.Sprint("client-", i), Full: true}
		}
		access := Access{}
		if n > 0 {
			access.Keys = config.NewKeyring(keys)
		}
		s := Service{Access: access, Metrics: noFigures(), Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
		engine := s.engine(usual())
		engine.GET("/api/users", func(*gin.Context) {})
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			request := httptest.NewRequest("GET", "/api/users", nil)
			request.Header.Set("X-API-Key", keyA+"0")
			for b.Loop() {
				engine.ServeHTTP(&discard{http.Header{}}, request)
			}
		})
	}
}
