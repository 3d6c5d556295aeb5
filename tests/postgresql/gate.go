package postgresql

import (
	"net"
	"sync"
	"testing"
)

// A gate passes on what comes to an address, until it is closed. Then connections stay open, and nothing arrives any
// more, as when a network is cut.
type gate struct {
	sync.RWMutex // held for reading by what passes, and for writing while it is closed
	listener     net.Listener
}

func openGate(t testing.TB, from, to string) *gate {
	t.Helper()
	listener, err := net.Listen("tcp", from)
	must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	g := &gate{listener: listener}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go g.connect(client, to)
		}
	}()
	return g
}

func (g *gate) connect(client net.Conn, to string) {
	defer client.Close() //nolint:errcheck // it has ended
	g.RLock()
	server, err := net.Dial("tcp", to)
	g.RUnlock()
	if err != nil {
		return
	}
	defer server.Close() //nolint:errcheck // it has ended
	go g.pass(server, client)
	g.pass(client, server)
}

// pass passes on what one side sends, and ends both when it ends.
func (g *gate) pass(from, to net.Conn) {
	defer from.Close() //nolint:errcheck // it has ended
	defer to.Close()   //nolint:errcheck // it has ended
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		g.RLock()
		_, err = to.Write(buffer[:n])
		g.RUnlock()
		if err != nil {
			return
		}
	}
}
