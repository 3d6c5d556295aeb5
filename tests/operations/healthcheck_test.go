package operations

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"users-api/tests/program"
)

// plain reports whether text is one line for a person, and not one of the log.
func plain(text string) bool {
	return strings.Count(text, "\n") == 1 && strings.HasPrefix(text, "users-api: ") && !strings.Contains(text, "level=")
}

func TestTheHealthCheckOfAServiceThatIsUpSucceeds(t *testing.T) {
	t.Parallel()
	port := strings.TrimPrefix(program.Serve(t).URL, "http://127.0.0.1:")
	stdout, stderr, code := program.Run(t, []string{"PORT=" + port}, "healthcheck")
	if code != 0 || stderr != "" || !strings.Contains(stdout, "healthy: http://127.0.0.1:"+port+"/health") {
		t.Errorf("it ends with %d, %q and %q", code, stdout, stderr)
	}
}

func TestAHealthCheckThatFailsSaysWhyInOnePlainLine(t *testing.T) {
	t.Parallel()
	stranger := httptest.NewServer(http.NotFoundHandler()) // another program has the port
	t.Cleanup(stranger.Close)
	port := strings.TrimPrefix(stranger.URL, "http://127.0.0.1:")
	for _, bad := range []struct{ name, port, says string }{
		{"no program listens", "1", "http://127.0.0.1:1/health"},
		{"another program answers", port, "http://127.0.0.1:" + port + "/health answered 404"},
		{"the system chose the port", "0", "set PORT"},
		{"a setting is bad", "abc", `PORT is "abc"`},
	} {
		t.Run(bad.name, func(t *testing.T) {
			t.Parallel()
			stdout, stderr, code := program.Run(t, []string{"PORT=" + bad.port}, "healthcheck")
			if code != 1 || stdout != "" || !plain(stderr) || !strings.Contains(stderr, bad.says) {
				t.Errorf("it ends with %d, %q and %q", code, stdout, stderr)
			}
		})
	}
}

func TestAHealthCheckOfAServiceThatDoesNotAnswerFailsSoon(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // the system accepts the connection
	program.Must(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	_, port, _ := net.SplitHostPort(silent.Addr().String())
	patience, cancel := context.WithTimeout(context.Background(), program.Patience)
	defer cancel()
	check := exec.CommandContext(patience, program.Path(), "healthcheck")
	check.Env = []string{"PORT=" + port, "GOCOVERDIR=" + os.Getenv("GOCOVERDIR")}
	output, err := check.CombinedOutput()
	if check.ProcessState.ExitCode() != 1 || !plain(string(output)) {
		t.Errorf("it ends with %v and %q", err, output)
	}
}

func TestAStartThatFailsIsLoggedInTheFormatThatWasAskedFor(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"PORT=abc", "LOG_LEVEL=loud", "LIST_MEMORY_MIB=-1", badDatabase} {
		t.Run(bad, func(t *testing.T) {
			t.Parallel()
			p := program.Launch(t, program.Path(), "LOG_FORMAT=json", "LOG_LEVEL=error", bad)
			program.ExpectRefusal(t, p)
			var line struct{ Level, Msg, Error string }
			err := json.Unmarshal([]byte(p.Log()), &line)
			if err != nil || line.Level != "ERROR" || line.Msg != "users-api stopped" || line.Error == "" {
				t.Errorf("it logs %q, %v", p.Log(), err)
			}
		})
	}
}

func TestAPortThatNeedsRightsIsNotSaidToBeTaken(t *testing.T) {
	t.Parallel()
	program.NeedsRoot(t) // to become another user
	first, err := os.ReadFile("/proc/sys/net/ipv4/ip_unprivileged_port_start")
	if number, _ := strconv.Atoi(strings.TrimSpace(string(first))); err != nil || number <= 80 {
		t.Skipf("anybody may listen on port 80 here: %q, %v", first, err)
	}
	p := program.LaunchAs(t, nobody, program.Path(), "DATA_DIR="+program.SharedDirectory(t, nobody), "PORT=80")
	program.ExpectRefusal(t, p, "cannot listen on port 80", "permission denied", "1024", "NET_BIND_SERVICE")
	program.Forbid(t, p.Log(), "program that has it")
}
