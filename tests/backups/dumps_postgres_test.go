//go:build postgres

package backups

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"users-api/tests/postgresql"
	"users-api/tests/program"
)

// Another program may restore a dump while the service runs: the table is another one then, with the users of the dump.
func TestWhatIsRestoredWhileItRunsIsServed(t *testing.T) {
	t.Parallel()
	url := postgresql.Start(t).NewDatabase(t)
	p := program.Serve(t, "DATABASE_URL="+url)
	p.Create(t, "Ada", "ada@example.org")
	before := p.Do(t, "GET", "/api/users", "").Body
	dump := filepath.Join(t.TempDir(), "users.dump")
	runTool(t, "pg_dump", "-Fc", "--file="+dump, "--dbname="+url)
	id := p.Create(t, "Later", "later@example.org")
	p.List(t)
	runTool(t, "pg_restore", "--clean", "--if-exists", "--single-transaction", "--dbname="+url, dump)
	p.Do(t, "GET", "/api/users", "").Expect(t, 200, before)
	if again := p.Create(t, "Alan", "alan@example.org"); again != id {
		t.Errorf("the next user has the id %d, want %d as when the dump was made", again, id)
	}
}

// The documented commands take a URL with parameters that only the service knows.
func TestTheDocumentedBackupIsRestored(t *testing.T) {
	t.Parallel()
	document := program.ReadFile(t, "../../docs/postgresql.md")
	_, rest, found := strings.Cut(document, "```shell\nurl=")
	commands, _, _ := strings.Cut("set -e\nurl="+rest, "```")
	if !found {
		t.Fatal("docs/postgresql.md has no commands for a backup")
	}
	url := postgresql.Start(t).NewDatabase(t) + "?pool_max_conns=5&sslmode=disable&pool_max_conn_lifetime=1h"
	p := program.Serve(t, "DATABASE_URL="+url)
	p.Create(t, "Ada", "ada@example.org")
	before := p.Do(t, "GET", "/api/users", "").Body
	shell := exec.Command("sh", "-c", commands)
	shell.Dir, shell.Env = t.TempDir(), append(os.Environ(), "DATABASE_URL="+url)
	if output, err := shell.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	p.Do(t, "GET", "/api/users", "").Expect(t, 200, before)
}

// runTool runs one of PostgreSQL's own programs.
func runTool(t *testing.T, name string, arguments ...string) {
	t.Helper()
	path, err := exec.LookPath(filepath.Join(os.Getenv("POSTGRES_BIN"), name))
	if err != nil {
		t.Skipf("needs %s: %v", name, err)
	}
	if output, err := exec.Command(path, arguments...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, output)
	}
}
