package operating

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"users-api/tests/program"
)

func TestTheHealthCheckSaysInOneLineWhetherTheServiceIsUp(t *testing.T) {
	t.Parallel()
	stranger := httptest.NewServer(http.NotFoundHandler()) // another program has the port
	t.Cleanup(stranger.Close)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // the system accepts the connection
	program.Must(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	const host = "http://127.0.0.1:"
	check := func(url string) program.Outcome {
		return program.RunWith(t, []string{"PORT=" + strings.TrimPrefix(url, host)}, nil, "healthcheck")
	}
	up := program.Serve(t).URL
	program.Expect(t, "the check", check(up), program.Outcome{Stdout: "healthy: " + up + "/health answered 200 OK\n"})
	for url, says := range map[string]string{
		host + "1":   host + "1/health", // no program listens
		stranger.URL: stranger.URL + "/health answered 404", host + "abc": `PORT is "abc"`,
		"http://" + silent.Addr().String(): "/health",
	} {
		done := check(url)
		done.ExpectMistake(t, says)
		program.Forbid(t, done.Stderr, "level=") // it is for a person
	}
}

// It ends although it makes backups, once the last request is answered.
func TestAFileThatIsTakenAwayMakesTheServiceNotReady(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	p := program.Serve(t, "ADMIN_PORT=0", "BACKUP_EVERY=24h")
	admin := program.Admin(t, p)
	conn := p.BeginRequest(t, "POST /api/users", "{}")
	program.Must(t, os.Remove(p.DatabasePath()))
	program.WaitFor(t, "it is not ready", func() bool {
		answer, err := admin.Send("GET", "/readyz", "")
		return err == nil && answer.Status == 503 && strings.Contains(answer.Body, "removed or replaced")
	})
	conn.Send("{}")
	p.ExpectEnd(t, 1)
}

func TestProbesAndSystemdAreToldWhenTheServiceIsReadyAndWhenItStops(t *testing.T) {
	t.Parallel()
	directory, err := os.MkdirTemp("", "n") // short: the path of a socket may have 107 bytes
	program.Must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	path := filepath.Join(directory, "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	program.Must(t, err)
	t.Cleanup(func() { _ = socket.Close() })
	next := func() string { // what systemd is told
		t.Helper()
		_ = socket.SetReadDeadline(time.Now().Add(program.Patience))
		state := make([]byte, 4096)
		n, err := socket.Read(state)
		if err != nil {
			t.Fatalf("systemd is told nothing: %v", err)
		}
		return string(state[:n])
	}
	p := launchApart(t, "NOTIFY_SOCKET="+path, "ADMIN_PORT=0")
	if state := next(); state != "READY=1" {
		t.Fatalf("the first state is %q", state)
	}
	p.At(p.URL).Do(t, "GET", "/health", "").Expect(t, 200, "…")
	program.AskAdmin(t, p, "/readyz").Expect(t, 200, "ok\n")
	busy := p.BeginRequest(t, "POST /api/users", "{}")
	p.Signal(syscall.SIGTERM)
	program.Expect(t, "the state during a stop", next(), "STOPPING=1")
	program.AskAdmin(t, p, "/readyz").Expect(t, 503, "the service is stopping\n")
	program.AskAdmin(t, p, "/livez").Expect(t, 200, "ok\n")
	busy.Send("{}") // the stop has waited for this request
	busy.Answer().Expect(t, 400, "…")
	p.ExpectEnd(t, 0)
}

// launchApart starts a program at a URL that is known before it says so. No client has this address, so that none can take the
// port meanwhile.
func launchApart(t *testing.T, settings ...string) *program.Program {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.77:0")
	program.Must(t, err)
	program.Must(t, listener.Close())
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	p := program.Launch(t, program.Path(), append(settings, "LISTEN_ADDRESS=127.0.0.77", "PORT="+port)...)
	p.URL = "http://" + listener.Addr().String()
	return p
}
