package operations

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"users-api/tests/program"
)

// notifySocket is what systemd listens on for the states of a service. Its path is short: it may have 107 bytes.
func notifySocket(t *testing.T) (path string, next func() string) {
	t.Helper()
	directory, err := os.MkdirTemp("", "n")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	path = filepath.Join(directory, "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	return path, func() string {
		_ = socket.SetReadDeadline(time.Now().Add(program.Patience))
		state := make([]byte, 4096)
		n, err := socket.Read(state)
		if err != nil {
			t.Fatalf("systemd is told nothing: %v", err)
		}
		return string(state[:n])
	}
}

// freePort returns a port that nobody listens on. It is known before the program says that it listens.
func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
}

func TestSystemdIsToldWhenTheServiceIsReadyAndWhenItStops(t *testing.T) {
	t.Parallel()
	path, next := notifySocket(t)
	port := freePort(t)
	p := program.Launch(t, program.Path(), "NOTIFY_SOCKET="+path, "PORT="+port)
	if state := next(); state != "READY=1" {
		t.Fatalf("the first state is %q", state)
	}
	if answer := p.At("http://127.0.0.1:"+port).Do(t, "GET", "/health", ""); answer.Status != 200 {
		t.Errorf("a service that is ready answers %d", answer.Status)
	}
	p.WaitForAddress(t)
	busy := p.Dial(t)
	busy.Send("POST /api/users HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
	busy.Expect("HTTP/1.1 100 Continue\r\n")
	busy.Expect("\r\n")
	p.Signal(syscall.SIGTERM)
	if state := next(); state != "STOPPING=1" {
		t.Errorf("the state during a stop is %q", state)
	}
	busy.Send("{}") // the stop has waited for this request
	if answer := busy.Answer(); answer.Status != 400 {
		t.Errorf("the request in progress is answered %d", answer.Status)
	}
	if code := p.Wait(t); code != 0 {
		t.Errorf("it ends with %d", code)
	}
}

func TestAServiceThatCannotTellSystemdServes(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "NOTIFY_SOCKET="+filepath.Join(t.TempDir(), "nothing"))
	p.WaitForLog(t, "level=WARN msg=\"systemd cannot be told the state of the service\" state=\"READY=1\"")
	p.Create(t, "Ada", "ada@example.org")
}
