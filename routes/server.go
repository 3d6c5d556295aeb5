package routes

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"users-api/models"
)

// maxBody is the largest request body, in bytes.
const maxBody = 1 << 20

// How long a client may keep a connection busy without doing its part. There is no time for a whole answer: a long
// list to a slow reader takes as long as it takes, see [Patient].
const (
	headerTime = 10 * time.Second  // to send a request's headers
	bodyTime   = 20 * time.Second  // to send a request's body
	idleTime   = 120 * time.Second // between two requests; longer than proxies keep theirs, so that they close first
	stallTime  = 24 * time.Second  // to take any byte of an answer
)

// NewServer returns the server of all requests.
func NewServer(users *models.Users, logger *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           New(users, logger),
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
}

// Patient returns a listener whose connections wait for a slow reader for as long as it takes any byte, and give up
// on one that has stopped. net/http's WriteTimeout would cut off every list that takes longer, however steadily it
// is read.
func Patient(listener net.Listener) net.Listener { return patientListener{listener} }

type patientListener struct{ net.Listener }

func (l patientListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return patientConn{conn.(*net.TCPConn)}, nil
}

type patientConn struct{ *net.TCPConn }

// Write writes all of data, unless the other side takes none of it for stallTime. The kernel does not tell when a
// byte was taken, so each tick tries again and sees.
func (c patientConn) Write(data []byte) (written int, err error) {
	const ticks = 6
	for idle := 0; idle < ticks; idle++ {
		if err := c.SetWriteDeadline(time.Now().Add(stallTime / ticks)); err != nil {
			return written, err
		}
		n, err := c.TCPConn.Write(data[written:])
		written += n
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return written, err
		}
		if n > 0 {
			idle = 0
		}
	}
	return written, os.ErrDeadlineExceeded
}
