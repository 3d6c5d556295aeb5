package routes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"users-api/models"
)

// maxBody is the largest request body, in bytes.
const maxBody = 1 << 20

// limits are how long a client may keep a connection busy without doing its part, and what requests may hold. There
// is no time for a whole answer: a long list to a slow reader takes as long as it takes.
type limits struct {
	header time.Duration // to send a request's headers
	body   time.Duration // to send a request's body
	idle   time.Duration // between two requests; longer than proxies keep theirs, so that they close first
	probe  time.Duration // for storage to answer a probe
	stop   time.Duration // to finish a request after the service was asked to stop
	// rate is how many bytes a second a client must bring of a file, and take of a response, and behind is how far it
	// may fall behind that.
	rate   int
	behind time.Duration
	// connections is how many there may be before those that have been idle longest are closed.
	connections int
	// largeBodies is how many bodies may be larger than smallBody at once.
	largeBodies int64
	// imports is how many files may arrive at once, dryRuns how many more of keys that can only read, and importBytes
	// how large each may be.
	imports, dryRuns, importBytes int64
}

// usual returns the limits of a service. A container engine kills 10 s after it asked to stop; a second more than a
// write waits for another program's lock is for the requests, and the rest is for the last checkpoint.
func usual() limits {
	return limits{
		header: 10 * time.Second, body: 20 * time.Second, idle: 120 * time.Second,
		probe: 2 * time.Second, stop: 6 * time.Second,
		rate: 1 << 10, behind: time.Minute, connections: 4096,
		largeBodies: 16, imports: 8, dryRuns: 4, importBytes: 512 << 20,
	}
}

// errStopped is why requests end that the stop did not wait for.
var errStopped = errors.New("the service is stopping")

// Serve answers the requests that come to a TCP listener until stop is done. Then it takes no new ones, finishes
// those under way, cuts off what is not done in 6 seconds, and returns nil. It does the same, and returns an error,
// when the storage is lost ([models.ErrReplaced]) or when connections cannot be accepted.
func (s Service) Serve(stop context.Context, listener net.Listener) error {
	l := usual()
	l.importBytes = s.ImportMax
	return l.serve(stop, listener, s.Users.Replaced(), s.handler(l), s.Logger)
}

func (l limits) serve(
	stop context.Context, accept net.Listener, lost <-chan struct{}, handler http.Handler, logger *slog.Logger,
) error {
	cut, cutOff := context.WithCancelCause(context.Background())
	defer cutOff(errStopped)
	server := l.server(cut, handler, logger)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener{accept, l, cut}) }()

	var err error
	select {
	case <-stop.Done():
	case <-lost:
		err = models.ErrReplaced
	case failure := <-failed:
		err = fmt.Errorf("cannot accept connections: %w", failure)
	}
	if !finish(server, l.stop) {
		logger.Warn("some clients were cut off", "after", l.stop)
		cutOff(errStopped)
		finish(server, time.Second) // so that each has its line in the log
	}
	return err
}

// finish waits for the requests under way, and reports whether they were done in time.
func finish(server *http.Server, within time.Duration) bool {
	deadline, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	return !errors.Is(server.Shutdown(deadline), context.DeadlineExceeded)
}

// server returns the server of all connections. Their requests' contexts end when the connections are cut off.
func (l limits) server(cut context.Context, handler http.Handler, logger *slog.Logger) *http.Server {
	return &http.Server{
		Handler:                      handler,
		DisableGeneralOptionsHandler: true, // it would answer before receive sees the request
		ReadHeaderTimeout:            l.header,
		ReadTimeout:                  l.body, // for what net/http refuses itself; receive gives a body all of it
		IdleTimeout:                  l.idle,
		MaxHeaderBytes:               32 << 10,
		BaseContext:                  func(net.Listener) context.Context { return cut },
		ConnContext:                  withConn,
		ConnState:                    newConnections(l.connections).note,
		ErrorLog:                     slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
}
