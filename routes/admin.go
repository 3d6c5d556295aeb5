package routes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	_ "net/http/pprof" // gives http.DefaultServeMux, which nothing else uses, its paths

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"users-api/controllers"
	"users-api/database"
	"users-api/models"
)

// Admin serves metrics, probes and profiles to operators, on a port of its own. It needs no key, so its port must not
// be public. It responds while the service stops, until end is called.
func (s Service) Admin(stop context.Context, accept net.Listener) (end func()) {
	return s.admin(usual(), stop, accept)
}

func (s Service) admin(l limits, stop context.Context, accept net.Listener) (end func()) {
	errorLog := slog.NewLogLogger(s.Logger.Handler(), slog.LevelWarn)
	paths := http.NewServeMux()
	paths.Handle("GET /metrics", promhttp.HandlerFor(s.Metrics.registry, promhttp.HandlerOpts{ErrorLog: errorLog}))
	paths.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	paths.HandleFunc("GET /readyz", func(w http.ResponseWriter, request *http.Request) {
		within, cancel := context.WithTimeout(request.Context(), l.probe)
		defer cancel()
		if err := s.ready(within, stop); err != nil {
			w.Header().Set("Retry-After", controllers.RetryAfter)
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = fmt.Fprintln(w, err)
			return
		}
		_, _ = io.WriteString(w, "ok\n")
	})
	paths.Handle("/debug/pprof/", http.DefaultServeMux)
	server := l.server(context.Background(), l.paced(s.checkAdminHost(paths)), s.Logger)
	go func() {
		if err := server.Serve(accept); !errors.Is(err, http.ErrServerClosed) {
			s.Logger.Error("the admin port cannot accept connections", "error", err)
		}
	}()
	return func() { _ = server.Close() }
}

// checkAdminHost refuses requests for other hosts, except probes: they call a service by its address, and their
// responses contain nothing secret.
func (s Service) checkAdminHost(paths http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		host, allowed := s.Access.allowsHost(request)
		if !allowed && request.URL.Path != "/livez" && request.URL.Path != "/readyz" {
			http.Error(w, fmt.Sprintf("This port does not answer for the host %q: name it in ALLOWED_HOSTS", host),
				http.StatusMisdirectedRequest)
			return
		}
		paths.ServeHTTP(w, request)
	})
}

// ready returns why the service is not ready for requests: it is stopping, its storage was removed or replaced, or
// storage does not respond in time.
func (s Service) ready(ctx, stop context.Context) error {
	select {
	case <-stop.Done():
		return errStopped
	case <-s.Users.Replaced:
		return models.ErrReplaced
	default:
	}
	_, err := s.Users.Get(ctx, database.Who{})
	if err != nil && !errors.Is(err, models.ErrNotFound) {
		return fmt.Errorf("storage does not answer: %w", err)
	}
	return nil
}
