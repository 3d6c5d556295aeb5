//go:build postgres

package files

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"users-api/tests/postgresql"
	"users-api/tests/program"
)

// exported are users as an export must be able to write them.
var exported = []string{
	"CREATE TABLE users (id bigserial PRIMARY KEY, name text, email text UNIQUE, created_at timestamptz)",
	`INSERT INTO users VALUES (1, 'Ada', 'ada', '2026-11-20 15:42:07Z'), (2, 'King, "Martin"', 'king', '2026-11-20T16:42:07+01'),
		(5, '=1+2', '''@x', NULL), (7, 'A' || chr(13) || chr(10) || 'B', 'lines', NULL)`,
}

// slowTable makes users so slow to store that an import of many takes minutes. Some are in its transaction soon.
var slowTable = []string{
	"CREATE FUNCTION slow() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.01); RETURN true; END $$",
	"ALTER TABLE users ADD CONSTRAINT slow CHECK (id <= 20 OR slow())",
}

// isTrying reports whether a dry run stores rows in a slow table.
func isTrying(_ *program.Program, other *program.Other) bool {
	return other.Ask(`SELECT count(*)::text FROM pg_stat_activity
		WHERE datname = current_database() AND wait_event = 'PgSleep'`) == "1"
}

// refusing makes the table refuse users with one name.
var refusing = []string{`ALTER TABLE users ADD CONSTRAINT "no Bad users" CHECK (name <> 'Bad')`}

// readsNothing reports whether the program reads nothing at the moment.
func readsNothing(_ *testing.T, _ *program.Program, other *program.Other) bool {
	return other.Ask(`SELECT (count(*) = 0)::text FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_xmin IS NOT NULL`) == "true"
}

// importBeside imports a file while another program has run a statement, and not yet committed it when the import waits
// for its lock.
func importBeside(t *testing.T, p *program.Program, database, statement, parameters, file string) program.Answer {
	t.Helper()
	other := program.OpenOther(t, filepath.Join(database, "users.db"))
	other.Do("BEGIN", statement)
	answered := p.Begin(t, "POST "+program.CSV+parameters, file)
	waiting := `SELECT count(*)::text FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
	program.WaitFor(t, "the import waits for the lock", func() bool { return other.Ask(waiting) == "1" })
	other.LetGo()
	return <-answered
}

// Another program creates a user between an import's lookup and its row, which must still update the user.
func TestARowUpdatesAUserThatAnotherProgramCreatesMeanwhile(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	answer := importBeside(t, p, p.DataDir, "INSERT INTO users (name, email) VALUES ('Ada', 'ada')", "?on_conflict=update",
		"name,email\nAda King,ada\n")
	answer.Expect(t, 200, program.Imported(0, 1, 0, 0))
	program.OpenOther(t, p.DatabasePath()).Do(refusing...) // the import begins again because of line 2, and then line 3 waits
	answer = importBeside(t, p, p.DataDir, "INSERT INTO users (name, email) VALUES ('Alan', 'alan')", skipping+"&on_conflict=update",
		"name,email\nBad,bad\nAlan Turing,alan\n")
	answer.Expect(t, 200, skipped(0, 1, 0, 1, `{"line":2,"error":"…no Bad users…"}`))
	p.ExpectUsers(t, "Ada King", "Alan Turing")
}

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
