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
