package routes

import (
	"net/http"
	"time"
)

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

// paced lets a client take every response at its pace.
func (l limits) paced(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		setDeadline := http.NewResponseController(w).SetWriteDeadline
		handler.ServeHTTP(&pacedResponse{w, pace{setDeadline: setDeadline, limit: l.behind}}, request)
		_ = setDeadline(time.Now().Add(l.behind)) // of what net/http has not sent yet
	})
}
