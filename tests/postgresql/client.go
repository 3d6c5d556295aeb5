package postgresql

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// SQL runs statements on a connection of its own, each as it stands.
func SQL(t testing.TB, url string, statements ...string) {
	t.Helper()
	ctx, conn, end := connect(t, url)
	defer end()
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// Ask returns the one value that a query selects, as text.
func Ask(t testing.TB, url, query string) (text string) {
	t.Helper()
	ctx, conn, end := connect(t, url)
	defer end()
	if err := conn.QueryRow(ctx, query).Scan(&text); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return text
}

// Hold runs a statement in a transaction, which stays open until it is ended.
func Hold(t testing.TB, url, statement string) (end func()) {
	t.Helper()
	ctx, conn, end := connect(t, url)
	if _, err := conn.Exec(ctx, "BEGIN; "+statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	t.Cleanup(end)
	return end
}

// connect opens a connection that sends every statement as text, so that values come as text too and a pooler in
// between is no matter.
func connect(t testing.TB, url string) (ctx context.Context, conn *pgx.Conn, end func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	config, err := pgx.ParseConfig(url)
	must(t, err)
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	conn, err = pgx.ConnectConfig(ctx, config)
	must(t, err)
	return ctx, conn, func() { _ = conn.Close(ctx); cancel() }
}

// At returns the URL of a database on other servers: it is that of the first that can be written.
func At(t testing.TB, database string, servers ...*Server) string {
	t.Helper()
	hosts := []string{}
	for _, server := range servers {
		hosts = append(hosts, address(server.Port))
	}
	return Through(t, database, hosts...)
}

// Through returns the URL of a database at other hosts.
func Through(t testing.TB, database string, hosts ...string) string {
	t.Helper()
	name, err := url.Parse(database)
	must(t, err)
	name.Host = strings.Join(hosts, ",")
	return name.String()
}

// AsAnotherRole returns the URL of a database as a role has it that may use the table users and nothing else, until the
// end of the test.
func AsAnotherRole(t testing.TB, database string) string {
	t.Helper()
	name, err := url.Parse(database)
	must(t, err)
	role := "r" + strings.TrimPrefix(name.Path, "/")
	SQL(t, database, "CREATE ROLE "+role+" LOGIN", "GRANT USAGE ON SCHEMA public TO "+role,
		"GRANT ALL ON users TO "+role,
		"GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO "+role)
	t.Cleanup(func() { SQL(t, database, "DROP OWNED BY "+role, "DROP ROLE "+role) })
	name.User = url.User(role)
	return name.String()
}

// dumpComments are the lines of pg_dump that name versions and random keys.
var dumpComments = regexp.MustCompile(`(?m)^(--.*|\\.*|)\n`)

// Schema returns the definitions of everything in a database, as pg_dump of the server's version writes them. Where
// there is none, it skips the rest of the test.
func Schema(t testing.TB, url string) string {
	t.Helper()
	dump, err := exec.LookPath(filepath.Join(os.Getenv("POSTGRES_BIN"), "pg_dump"))
	if err != nil {
		t.Skipf("needs pg_dump: %v", err)
	}
	text, err := exec.Command(dump, "--schema-only", "--dbname="+url).Output()
	must(t, err)
	return dumpComments.ReplaceAllString(string(text), "")
}

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
	p.process = begin(p.t, p.path, p.file)
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
