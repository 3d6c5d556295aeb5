package routes

import (
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"testing"
	"time"
)

// What this system still holds was not taken by the client, and earns it nothing.
func TestWhatAClientHasNotTakenIsKnown(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells")
	}
	accept := listen(t)
	client, err := net.Dial("tcp", accept.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close() //nolint:errcheck // it reads nothing
	accepted, err := accept.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()       //nolint:errcheck // likewise
	data := make([]byte, 64<<20) // it takes a while to get, on a busy machine
	_ = accepted.SetWriteDeadline(time.Now().Add(300 * time.Millisecond))
	written, _ := accepted.Write(data)
	if held := unsent(accepted.(*net.TCPConn)); held <= 0 || held >= written {
		t.Errorf("%d of %d bytes are not taken", held, written)
	}
}

// Clients that keep many connections and use none of them cost memory. Those that are in use are never closed.
func TestOfTooManyConnectionsTheLongestIdleIsClosed(t *testing.T) {
	t.Parallel()
	all := newConnections(3)
	conns := make([]net.Conn, 5)
	for i := range conns {
		conns[i], _ = net.Pipe()
		all.note(conns[i], http.StateNew)
		if i > 0 { // the first is in use
			all.note(conns[i], http.StateIdle)
		}
	}
	for i, conn := range conns {
		closed := errors.Is(conn.SetDeadline(time.Time{}), io.ErrClosedPipe)
		if closed != (i == 1 || i == 2) {
			t.Errorf("connection %d is closed: %t", i, closed)
		}
		all.note(conn, http.StateClosed)
	}
	if len(all.open) != 0 || all.idle.Len() != 0 {
		t.Errorf("%d connections are kept, %d of them as idle", len(all.open), all.idle.Len())
	}
}
