//go:build postgres

package availability

import (
	"fmt"
	"strings"
	"testing"

	"users-api/tests/postgresql"
	"users-api/tests/program"
)

// A standby has the feed, too: its cursors are those of the primary. That nothing is lost when it takes over,
// TestAStandbyTakesOver proves.
func TestAStandbyIsServedWhereTheURLAsksForIt(t *testing.T) {
	t.Parallel()
	primary := postgresql.Start(t)
	database := primary.NewDatabase(t)
	program.Serve(t, "DATABASE_URL="+database).Stop(t) // makes the table
	standby := primary.Standby(t)
	p := program.Serve(t, "DATABASE_URL="+postgresql.At(t, database, standby, primary)) // which passes the standby over
	p.Create(t, "Ada", "ada@example.org")
	replica := program.Serve(t, "DATABASE_URL="+postgresql.At(t, database, standby)+"?target_session_attrs=any")
	program.WaitFor(t, "the replica shows what the primary has", func() bool { return len(replica.List(t)) == 1 })
	f := &program.Follower{}
	for i := range 20 {
		p.Create(t, "n", fmt.Sprint(i))
		program.Must(t, f.Step(replica, 0))
	}
	primary.AwaitReplay(t, standby)
	f.Settle(t, replica)
	for _, path := range []string{"/api/users", program.CSV} {
		answer := replica.Do(t, "GET", path, "")
		if answer.Header.Get("Changes-Cursor") == "" || !strings.Contains(answer.Body, "ada@example.org") {
			t.Errorf("%s of a standby is %s with the headers %v, want Ada and a cursor", path, answer.Body, answer.Header)
		}
	}
	replica.Do(t, "POST", "/api/users", program.Body("n", "e")).Expect(t, 500, "…read-only transaction…")
	standby.Promote(t)
	program.WaitFor(t, "it is written to", func() bool {
		return replica.Do(t, "POST", "/api/users", program.Body("n", "e")).Status == 201
	})
	f.Settle(t, replica)
	program.Expect(t, "how often the client began", f.Exports, 1)
}

// A program must be able to tell a write that was refused from one that may have been stored.
func TestAProblemOfUnknownOutcomeHasACodeOfItsOwn(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	p, url := onServer(t, server)
	p.Create(t, "Ada", "ada@example.org")
	postgresql.SQL(t, url, "ALTER SYSTEM SET synchronous_standby_names = 'missing'")
	server.Reload(t)
	answered := p.Begin(t, "DELETE /api/users/1", "", "Accept: application/problem+json")
	server.WaitUntil(t, "1", "SELECT count(*)::text FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
	postgresql.SQL(t, url, "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
	answer := <-answered
	postgresql.SQL(t, url, "ALTER SYSTEM RESET synchronous_standby_names")
	server.Reload(t)
	answer.Expect(t, 500, `…"code":"outcome_unknown"…`)
	p.ExpectUsers(t)
}
