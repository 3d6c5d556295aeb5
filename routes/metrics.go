package routes

import (
	"cmp"
	"runtime"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"users-api/controllers"
)

// Metrics are the metrics of the service, in their own registry. Counting a request takes 0.4 µs.
type Metrics struct {
	registry  *prometheus.Registry
	requests  *prometheus.CounterVec
	byKey     *prometheus.CounterVec
	durations *prometheus.HistogramVec
	inFlight  prometheus.Gauge
}

// NewMetrics returns the metrics of a service: its build, those of its storage, and the time of its last backup, which is
// 1970 if none is known.
func NewMetrics(version, revision string, storage prometheus.Collector, lastBackup func() time.Time) *Metrics {
	requestLabels := []string{"method", "route"}
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "http_requests_total", Help: "Requests that were answered.",
		}, append(requestLabels, "code")),
		byKey: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "http_requests_by_key_total", Help: "Requests that were answered, by the name of their API key.",
		}, []string{"key"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "http_request_duration_seconds", Help: "How long requests took, to the last byte of the answer.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, requestLabels),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "http_requests_in_flight", Help: "Requests that are being answered.",
		}),
	}
	build := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "users_api_build_info", Help: "1, with what the program was built from.",
		ConstLabels: prometheus.Labels{"version": version, "revision": revision, "goversion": runtime.Version()},
	}, func() float64 { return 1 })
	m.registry.MustRegister(m.requests, m.byKey, m.durations, m.inFlight, build, storage,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.gauge("users_api_last_backup_timestamp_seconds", "When the last backup was made; 0 when none is known.",
		func() int64 { return lastBackup().Unix() })
	return m
}

func (m *Metrics) gauge(name, help string, value func() int64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help},
		func() float64 { return float64(value()) }))
}

func (m *Metrics) count(c *gin.Context, route string, by controllers.Caller, took time.Duration) {
	m.inFlight.Dec()
	method := c.Request.Method
	if c.FullPath() == "" { // without a route it may be any word: clients cannot create labels
		method = "unknown"
	}
	m.requests.WithLabelValues(method, route, strconv.Itoa(c.Writer.Status())).Inc()
	m.durations.WithLabelValues(method, route).Observe(took.Seconds())
	// The names are those in the files of keys: clients cannot create labels.
	if by.Key != "" || by.Access != "" {
		m.byKey.WithLabelValues(cmp.Or(by.Key, "unnamed")).Inc()
	}
}
