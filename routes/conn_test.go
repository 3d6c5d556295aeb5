package routes

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
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

// A client that has vanished takes nothing, and is cut off although what is written to it finds space. One that takes all may
// wait for us for any time. A period is 125 ms here.
func TestAClientThatVanishesIsCutOffAlthoughLittleIsWritten(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells")
	}
	for _, one := range []struct {
		name    string
		isThere bool
		every   time.Duration
		writes  int
	}{
		{"a client that is there", true, 50 * time.Millisecond, 40},
		{"a client that is there, and gets more", true, 10 * time.Millisecond, 200},
		{"a client that has vanished", false, 50 * time.Millisecond, 400},
		{"a client that has vanished, and would get more", false, 10 * time.Millisecond, 2000},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			client, accepted := connect(t)
			if one.isThere {
				go io.Copy(io.Discard, client) //nolint:errcheck // until the end
			}
			_, err := accepted.Write(make([]byte, 64<<10))
			for range one.writes {
				if err == nil {
					time.Sleep(one.every)
					_, err = accepted.Write([]byte(":"))
				}
			}
			if one.isThere != (err == nil) || err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the writes end with %v", err)
			}
		})
	}
}

// connect returns both ends of a connection of a client that may fall half a second behind.
func connect(t *testing.T) (client, accepted net.Conn) {
	t.Helper()
	limits := usual()
	limits.behind = time.Second / 2
	accept := listener{listen(t), limits, t.Context()}
	client, err := net.Dial("tcp", accept.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	_ = client.(*net.TCPConn).SetReadBuffer(4 << 10)
	if accepted, err = accept.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = accepted.Close() })
	return client, accepted
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
