package routes

import (
	"net"
	"runtime"
	"testing"
	"time"
)

// What this system still holds was not taken by the client, and earns it nothing.
func TestWhatAClientHasNotTakenIsKnown(t *testing.T) {
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
	defer accepted.Close() //nolint:errcheck // likewise
	_ = accepted.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	written, _ := accepted.Write(make([]byte, 64<<20))
	if held := unsent(accepted.(*net.TCPConn)); held <= 0 || held >= written {
		t.Errorf("%d of %d bytes are not taken", held, written)
	}
}

// Clients that keep many connections and use none of them cost memory. Those that are used are never closed.
func TestOfTooManyConnectionsTheLongestIdleIsClosed(t *testing.T) {
	s := start(t, func(l *limits) { l.connections = 3 })
	busy := s.dial(t)
	busy.send("POST /api/users HTTP/1.1\r\nHost: x\r\nContent-Length: 26\r\n\r\n")
	idle := []*wire{s.dial(t), s.dial(t), s.dial(t), s.dial(t)}
	for _, conn := range idle {
		conn.send("GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
		conn.answer()
	}
	for _, conn := range idle[:2] {
		if text, err := conn.rest(); text != "" || err != nil {
			t.Errorf("one that was idle longest: %q, %v", text, err)
		}
	}
	for _, conn := range idle[2:] {
		conn.send("GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
		if got := conn.answer(); got.status != 200 {
			t.Errorf("one that was used later is answered %d", got.status)
		}
	}
	busy.send(`{"name":"n","email":"e@x"}`)
	if got := busy.answer(); got.status != 201 {
		t.Errorf("the busy one is answered %d %s", got.status, got.body)
	}
}
