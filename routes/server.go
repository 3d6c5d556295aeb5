package routes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"

	"users-api/models"
)

const (
	maxBody      = 1 << 20  // bytes
	maxBatchBody = 16 << 20 // of a batch of requests
)

// limits are how long a client may keep a connection busy without doing its part, and what requests may hold. There is
// no time limit for a whole response: a long list takes a slow reader as long as it takes.
type limits struct {
	header      time.Duration // to send a request's headers
	body        time.Duration // to send a request's body
	idle        time.Duration // between two requests; longer than proxies keep theirs, so that proxies close first
	probe       time.Duration // for storage to respond to a probe
	stop        time.Duration // to finish a request after the service was asked to stop
	behind      time.Duration // to send 60 KiB of a file, and to take them of a response
	largeBodies int64         // how many bodies may be larger than smallBody at once
	batches     int64         // how many batches may arrive or be carried out at once
	readBatches int64         // how many more from read-only keys
	imports     int64         // how many files may arrive at once
	dryRuns     int64         // how many more from read-only keys
}

// usual returns the limits of a service. A container engine kills 10 s after it asks the service to stop. Requests get
// one second more than a write waits for another program's lock, and the last checkpoint gets the rest.
func usual() limits {
	return limits{
		header: 10 * time.Second, body: 20 * time.Second, idle: 120 * time.Second,
		probe: 2 * time.Second, stop: 6 * time.Second, behind: time.Minute,
		largeBodies: 16, batches: 4, readBatches: 2, imports: 8, dryRuns: 4,
	}
}

// errStopped is why requests end that took too long during a stop.
var errStopped = errors.New("the service is stopping")

// Prepare makes everything that is served, and returns what serves it: that handles the requests that arrive at a TCP
// listener until stop is done. Then it accepts no new ones, finishes those in progress, cuts off the ones that are not
// done in 6 seconds, and returns nil. If the storage is lost ([models.ErrReplaced]) or connections cannot be accepted, it
// does the same, and returns an error.
func (s Service) Prepare(stop context.Context) (serve func(net.Listener) error) {
	l := usual()
	ending, end := context.WithCancel(stop)
	handler := s.handler(ending, l)
	return func(listener net.Listener) error {
		return l.serve(stop, end, listener, s.Users.Replaced, handler, s.Logger)
	}
}

// serve is what Prepare returns, for any handler. It calls end when the service begins to end, for whatever reason.
func (l limits) serve(
	stop context.Context, end func(), accept net.Listener, lost <-chan struct{}, handler http.Handler, logger *slog.Logger,
) error {
	cut, cutOff := context.WithCancelCause(context.Background())
	defer cutOff(errStopped)
	inProgress := semaphore.NewWeighted(math.MaxInt64)
	server := l.server(cut, http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if inProgress.TryAcquire(1) {
			defer inProgress.Release(1)
			handler.ServeHTTP(w, request)
		}
	}), logger)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(accept) }()

	var err error
	select {
	case <-stop.Done():
	case <-lost:
		err = models.ErrReplaced
	case failure := <-failed:
		err = fmt.Errorf("cannot accept connections: %w", failure)
	}
	end()
	inTime, cancel := context.WithTimeout(context.Background(), l.stop)
	defer cancel()
	if errors.Is(server.Shutdown(inTime), context.DeadlineExceeded) {
		logger.Warn("some clients were cut off", "after", l.stop)
		cutOff(errStopped) // before a closed connection ends the contexts, and is their cause
		_ = server.Close()
		logged, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = inProgress.Acquire(logged, math.MaxInt64)
	}
	return err
}

// server returns the server of all connections. The contexts of their requests end when the connections are cut off.
func (l limits) server(cut context.Context, handler http.Handler, logger *slog.Logger) *http.Server {
	return &http.Server{
		Handler:                      handler,
		DisableGeneralOptionsHandler: true, // it would respond before receive sees the request
		ReadHeaderTimeout:            l.header,
		ReadTimeout:                  l.body, // for what net/http refuses itself; receive gives each body the full time
		IdleTimeout:                  l.idle,
		MaxHeaderBytes:               32 << 10,
		BaseContext:                  func(net.Listener) context.Context { return cut },
		ErrorLog:                     slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
}

// pace is the time in which a client must bring or take paceBytes: 1 KiB/s with the usual limits. Only the time in which
// the service waits for the client counts. net/http's WriteTimeout would cut off every list that takes longer, however
// steadily it is read.
type pace struct {
	setDeadline   func(time.Time) error
	limit, waited time.Duration
	moved         int // bytes in the time waited
}

const paceBytes = 60 << 10

// move moves bytes by a read or a write that fails once the client has no time to spare.
func (p *pace) move(transfer func() (int, error)) (int, error) {
	began := time.Now()
	_ = p.setDeadline(began.Add(p.limit - p.waited))
	n, err := transfer()
	p.waited += time.Since(began)
	if p.moved += n; p.moved >= paceBytes {
		p.waited, p.moved = 0, 0
	}
	return n, err
}

// pacedResponse is a response that a client must take at its pace.
type pacedResponse struct {
	http.ResponseWriter
	pace pace
}

func (w *pacedResponse) Write(data []byte) (written int, err error) {
	for err == nil && written < len(data) {
		part, n := data[written:min(len(data), written+paceBytes)], 0
		n, err = w.pace.move(func() (int, error) { return w.ResponseWriter.Write(part) })
		written += n
	}
	return written, err
}

func (w *pacedResponse) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (l limits) paced(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		setDeadline := http.NewResponseController(w).SetWriteDeadline
		handler.ServeHTTP(&pacedResponse{w, pace{setDeadline: setDeadline, limit: l.behind}}, request)
		_ = setDeadline(time.Now().Add(l.behind)) // of what net/http has not sent yet
	})
}
