//go:build postgres

package files

import (
	"path/filepath"
	"testing"

	"users-api/tests/postgresql"
	"users-api/tests/program"
)

// Another program creates a user between an import's lookup and its row. Which constraint that violates is read from the
// catalog, which may fail, as it does for this role: the row must still update the user.
func TestARowUpdatesAUserThatAnotherProgramCreatesMeanwhile(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	url := program.DatabaseURL(t, directory)
	program.Serve(t, "DATABASE_URL="+url).Stop(t)
	as, role := postgresql.AsAnotherRole(t, url)
	postgresql.SQL(t, url, "REVOKE SELECT ON pg_catalog.pg_namespace FROM PUBLIC")
	defer postgresql.SQL(t, url, "GRANT SELECT ON pg_catalog.pg_namespace TO PUBLIC")
	p := program.Serve(t, "DATABASE_URL="+as)
	defer p.Stop(t)
	other := program.OpenOther(t, filepath.Join(directory, "users.db"))
	other.Do("BEGIN", "INSERT INTO users (name, email) VALUES ('Ada', 'ada')")
	answered := make(chan program.Answer)
	go func() {
		answer, _ := p.Send("POST", program.CSV+"?on_conflict=update", "name,email\nAda King,ada\n")
		answered <- answer
	}()
	postgresql.Shared(t).WaitUntil(t, "1", "SELECT count(*)::text FROM pg_stat_activity WHERE usename = '"+role+"' AND wait_event_type = 'Lock'")
	other.LetGo()
	answer := <-answered
	answer.Expect(t, 200, program.Imported(0, 1, 0, 0))
	p.ExpectUsers(t, "Ada King")
}
