// Package observability proves what people and machines that watch the service are told: its log, its metrics, whether it is
// healthy and ready, and what systemd hears of it.
package observability

import (
	"net"
	"testing"

	"users-api/tests/program"
)

func TestMain(m *testing.M) { program.Main(m) }

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
