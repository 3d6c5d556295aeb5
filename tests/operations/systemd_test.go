package operations

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"users-api/tests/program"
)

// notifySocket is what systemd listens on for the states of a service. Its path is short: it may have 107 bytes.
func notifySocket(t *testing.T) (path string, next func() string) {
	t.Helper()
	directory, err := os.MkdirTemp("", "n")
	program.Must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	path = filepath.Join(directory, "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	program.Must(t, err)
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

func TestSystemdIsToldWhenTheServiceIsReadyAndWhenItStops(t *testing.T) {
	t.Parallel()
	path, next := notifySocket(t)
	apart, url := listenApart(t)
	p := program.Launch(t, program.Path(), append(apart, "NOTIFY_SOCKET="+path)...)
	if state := next(); state != "READY=1" {
		t.Fatalf("the first state is %q", state)
	}
	p.At(url).Do(t, "GET", "/health", "").Expect(t, 200, "…")
	p.WaitForAddress(t)
	busy := p.BeginRequest(t, "POST /api/users", "{}")
	p.Signal(syscall.SIGTERM)
	if state := next(); state != "STOPPING=1" {
		t.Errorf("the state during a stop is %q", state)
	}
	busy.Send("{}") // the stop has waited for this request
	busy.Answer().Expect(t, 400, "…")
	p.ExpectEnd(t, 0)
}

func TestAServiceThatCannotTellSystemdServes(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "NOTIFY_SOCKET="+filepath.Join(t.TempDir(), "nothing"))
	p.WaitForLog(t, "level=WARN msg=\"systemd cannot be told the state of the service\" state=\"READY=1\"")
	p.Create(t, "Ada", "ada@example.org")
}
