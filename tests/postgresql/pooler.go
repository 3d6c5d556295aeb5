package postgresql

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// A Pooler is a PgBouncer in transaction mode, or in session mode before 1.21, which has no prepared statements in the other.
type Pooler struct {
	t          testing.TB
	port       int
	path, file string
	process    *process
}

// Pooler puts a PgBouncer in front of the server. Settings are lines of its section [pgbouncer], such as
// "default_pool_size=5".
func (s *Server) Pooler(t testing.TB, settings ...string) *Pooler {
	t.Helper()
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		t.Fatalf("this test needs Debian's package pgbouncer: %v", err)
	}
	folder, port := newFolder(t), freePort(t)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	mode := "transaction"
	if isOld(t, path) {
		mode = "session"
	}
	ini := fmt.Sprintf("[databases]\n* = host=127.0.0.1 port=%d\n[pgbouncer]\nlisten_addr=127.0.0.1\nlisten_port=%d\n"+
		"unix_socket_dir=%s\nauth_type=trust\nauth_file=%s/users\npool_mode=%s\nmax_client_conn=1000\n",
		s.Port, port, folder, folder, mode)
	for _, setting := range settings {
		ini += setting + "\n"
	}
	for name, text := range map[string]string{"ini": ini, "users": fmt.Sprintf("%q %q\n", "postgres", Password)} {
		must(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644))
	}
	pooler := &Pooler{t: t, port: port, path: path, file: filepath.Join(folder, "ini")}
	pooler.start()
	t.Cleanup(func() { pooler.process.signal(syscall.SIGKILL); <-pooler.process.exited })
	return pooler
}

func (p *Pooler) start() {
	p.t.Helper()
	p.process = begin(p.t, syscall.SIGQUIT, nil, p.path, p.file)
	p.process.waitFor(p.t, "process up")
}

// Through returns the URL of a database that goes through the pooler.
func (p *Pooler) Through(database string) string { return Through(p.t, database, address(p.port)) }

func isOld(t testing.TB, path string) bool {
	t.Helper()
	version, err := exec.Command(path, "--version").Output()
	must(t, err)
	var major, minor int
	if _, err := fmt.Sscanf(string(version), "PgBouncer %d.%d", &major, &minor); err != nil {
		t.Fatal(err)
	}
	return major == 1 && minor < 21
}

// Restart kills the pooler, so that all connections through it break, and starts it again.
func (p *Pooler) Restart() {
	p.t.Helper()
	p.process.signal(syscall.SIGKILL)
	p.process.wait(p.t)
	p.start()
}
