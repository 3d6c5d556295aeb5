package postgresql

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// PgBouncer puts a PgBouncer in transaction mode in front of the server and returns what turns the URL of a database
// into the one that goes through it. Settings are lines of its section [pgbouncer], such as "default_pool_size=5".
func (s *Server) PgBouncer(t testing.TB, settings ...string) (through func(url string) string) {
	t.Helper()
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		t.Fatalf("this test needs Debian's package pgbouncer: %v", err)
	}
	folder, port := newFolder(t), freePort(t)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	ini := fmt.Sprintf("[databases]\n* = host=127.0.0.1 port=%d\n[pgbouncer]\nlisten_addr=127.0.0.1\nlisten_port=%d\n"+
		"unix_socket_dir=%s\nauth_type=trust\nauth_file=%s/users\npool_mode=transaction\nmax_client_conn=1000\n",
		s.Port, port, folder, folder)
	for _, setting := range settings {
		ini += setting + "\n"
	}
	for name, text := range map[string]string{"ini": ini, "users": fmt.Sprintf("%q %q\n", "postgres", Password)} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	startFront(t, "process up", path, filepath.Join(folder, "ini"))
	return func(database string) string { return withHost(t, database, port) }
}

// startFront starts what stands in front of servers, and ends it with the test.
func startFront(t testing.TB, ready, path string, arguments ...string) {
	t.Helper()
	p := begin(t, path, arguments...)
	t.Cleanup(func() { p.kill(); <-p.exited })
	p.waitFor(t, ready)
}

// withHost returns the URL of a database at another port.
func withHost(t testing.TB, database string, port int) string {
	t.Helper()
	name, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	name.Host = net.JoinHostPort("127.0.0.1", fmt.Sprint(port))
	return name.String()
}
