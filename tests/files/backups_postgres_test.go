//go:build postgres

package files

import (
	"os"
	"os/exec"
	"regexp"
	"testing"

	"users-api/tests/postgresql"
	"users-api/tests/program"
)

// The documented commands take a URL with parameters that only the service knows, and restore while it runs: the table is
// another one then, with the users of the backup.
func TestTheDocumentedBackupIsRestored(t *testing.T) {
	t.Parallel()
	document := program.ReadFile(t, "../../docs/postgresql.md")
	shown := regexp.MustCompile("(?s)```shell\n(url=.*?)```.*?```shell\n(pg_restore .*?)```").FindStringSubmatch(document)
	if shown == nil {
		t.Fatal("docs/postgresql.md has no commands for a backup")
	}
	url := postgresql.Start(t).NewDatabase(t) + "?pool_max_conns=5&sslmode=disable&pool_max_conn_lifetime=1h"
	p := program.Serve(t, "DATABASE_URL="+url)
	p.Create(t, "Ada", "ada@example.org")
	before := p.Do(t, "GET", "/api/users", "").Body
	shell := exec.Command("sh", "-ec", shown[1]+shown[2])
	shell.Dir, shell.Env = t.TempDir(), append(os.Environ(), "DATABASE_URL="+url)
	if output, err := shell.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	p.Do(t, "GET", "/api/users", "").Expect(t, 200, before)
	program.Expect(t, "the next id, as when the backup was made", p.Create(t, "Alan", "alan@example.org"), 2)
}
