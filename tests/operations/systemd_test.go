package operations

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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
	listener := listenLocally(t)
	_ = listener.Close()
	return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
}

func listenLocally(t *testing.T) *net.TCPListener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener.(*net.TCPListener)
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

// activated returns a program that systemd starts with sockets: it has the process's id in the environment.
func activated(t *testing.T) string {
	t.Helper()
	script := filepath.Join(t.TempDir(), "activated")
	text := "#!/bin/sh\nLISTEN_PID=$$ exec " + program.Path() + "\n"
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return script
}

func fileOf(t *testing.T, socket interface{ File() (*os.File, error) }) *os.File {
	t.Helper()
	file, err := socket.File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return file
}

func TestNoClientIsRefusedDuringARestartWithASocketOfSystemd(t *testing.T) {
	t.Parallel()
	listener := listenLocally(t)
	url, sockets, script := "http://"+listener.Addr().String(), []*os.File{fileOf(t, listener)}, activated(t)
	start := func(directory string) *program.Program {
		return program.LaunchWithFiles(t, sockets, script,
			"LISTEN_FDS=1", "PORT=1", "LISTEN_ADDRESS=192.0.2.1", "DATA_DIR="+directory)
	}
	directory := t.TempDir()
	first := start(directory)
	first.WaitForAddress(t)
	if first.URL != url {
		t.Fatalf("it listens to %s instead of the socket %s:\n%s", first.URL, url, first.Log())
	}
	first.Create(t, "Ada", "ada@example.org")
	first.Stop(t)
	between := first.Dial(t)
	between.Send("GET /api/users/1 HTTP/1.1\r\nHost: x\r\n\r\n")
	start(directory)
	if answer := between.Answer(); answer.Status != 200 || !strings.Contains(answer.Body, "Ada") {
		t.Errorf("a request during the restart is answered %d %s", answer.Status, answer.Body)
	}
}

func TestSocketsForAnotherProcessAreLeftAlone(t *testing.T) {
	t.Parallel()
	listener := listenLocally(t)
	p := program.LaunchWithFiles(t, []*os.File{fileOf(t, listener)}, program.Path(), "LISTEN_FDS=1", "LISTEN_PID=1")
	p.WaitForAddress(t)
	if p.URL == "http://"+listener.Addr().String() {
		t.Error("it took the socket of another process")
	}
	p.Create(t, "Ada", "ada@example.org")
}

func TestOtherSocketsThanOneForTCPAreRefused(t *testing.T) {
	t.Parallel()
	local, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = local.Close() })
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = packets.Close() })
	plain, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = plain.Close() })
	for name, files := range map[string][]*os.File{
		"two sockets":              {fileOf(t, listenLocally(t)), fileOf(t, listenLocally(t))},
		"a socket of this machine": {fileOf(t, local.(*net.UnixListener))},
		"a socket for packets":     {fileOf(t, packets.(*net.UDPConn))},
		"a file that is no socket": {plain},
	} {
		t.Run(name, func(t *testing.T) {
			p := program.LaunchWithFiles(t, files, activated(t), "LISTEN_FDS="+strconv.Itoa(len(files)))
			program.ExpectRefusal(t, p, "systemd passed something else than one TCP socket", "one ListenStream=", "users-api.socket")
		})
	}
}
