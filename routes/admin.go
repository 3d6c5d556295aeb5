package routes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"users-api/models"
)

// Admin returns the server for whoever runs the service, for a port of its own: figures, probes and profiles. It needs
// no key, so its port must not be public. It answers while the service stops, until it is closed.
func (s Service) Admin(stop context.Context) *http.Server {
	errorLog := slog.NewLogLogger(s.Logger.Handler(), slog.LevelWarn)
	paths := http.NewServeMux()
	paths.Handle("GET /metrics", promhttp.HandlerFor(s.Metrics.registry, promhttp.HandlerOpts{ErrorLog: errorLog}))
	paths.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	paths.HandleFunc("GET /readyz", func(w http.ResponseWriter, request *http.Request) { s.answerReady(w, request, stop) })
	paths.HandleFunc("/debug/pprof/", pprof.Index)
	paths.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	paths.HandleFunc("/debug/pprof/profile", pprof.Profile)
	paths.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	paths.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return &http.Server{Handler: paths, ReadHeaderTimeout: 10 * time.Second, ErrorLog: errorLog}
}

// answerReady answers 200 when the service should be sent requests, and otherwise 503 with the reason.
func (s Service) answerReady(w http.ResponseWriter, request *http.Request, stop context.Context) {
	if err := s.ready(request.Context(), stop); err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintln(w, err)
		return
	}
	_, _ = io.WriteString(w, "ok\n")
}

// ready returns why no requests should be sent to the service: it is stopping, its storage was taken away, or storage
// does not answer in the time that a probe has.
func (s Service) ready(ctx, stop context.Context) error {
	const probeTime = 2 * time.Second
	select {
	case <-stop.Done():
		return errStopped
	case <-s.Users.Lost():
		return models.ErrLost
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	_, err := s.Users.Get(ctx, 0)
	if err != nil && !errors.Is(err, models.ErrNotFound) {
		return fmt.Errorf("storage does not answer: %w", err)
	}
	return nil
}
