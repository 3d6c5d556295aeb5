//go:build postgres

package availability

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"users-api/tests/postgresql"
	"users-api/tests/program"
)

// That nothing is lost when a standby takes over, TestAStandbyTakesOver proves, and TestNoWriteThatWasAnsweredIsLost of
// the cluster in docs/postgresql.md.

// The primary stands still, a standby takes its place, and the primary goes on as if nothing had happened. It is the
// first host in the URL, and accepts writes, but what it has is old.
func TestAServerThatStoodStillWhileAnotherTookItsPlaceIsPassedOver(t *testing.T) {
	t.Parallel()
	primary := postgresql.Start(t)
	database := primary.NewDatabase(t)
	standby := primary.Standby(t)
	p := program.Serve(t, "DATABASE_URL="+postgresql.At(t, database, primary, standby))
	id := p.Create(t, "Ada", "ada@example.org")
	primary.AwaitReplay(t, standby)
	primary.Pause(t)
	standby.Promote(t)
	program.WaitFor(t, "the standby is written to", func() bool {
		return p.Do(t, "PATCH", fmt.Sprint("/api/users/", id), `{"name":"Ada King"}`).Status == 200
	})
	primary.Resume(t)
	for range 3 {
		p.Do(t, "GET", fmt.Sprint("/api/users/", id), "").Expect(t, 200, "…Ada King…")
		p.ExpectUsers(t, "Ada King")
		postgresql.SQL(t, standby.URL("postgres"), endSessions) // so that new connections are made
	}
}

// A client of a standby is not told that changes are not recorded, and gets no cursor that it could not go on from.
func TestAStandbyIsServedWhereTheURLAsksForIt(t *testing.T) {
	t.Parallel()
	primary := postgresql.Start(t)
	database := primary.NewDatabase(t)
	program.Serve(t, "DATABASE_URL="+database).Stop(t) // makes the table
	program.RunWith(t, []string{"DATABASE_URL=" + database}, nil, "changes", "on").MustSucceed(t)
	standby := primary.Standby(t)
	p := program.Serve(t, "DATABASE_URL="+postgresql.At(t, database, standby, primary)) // which passes the standby over
	p.Create(t, "Ada", "ada@example.org")
	replica := program.Serve(t, "DATABASE_URL="+postgresql.At(t, database, standby)+"?target_session_attrs=any")
	program.WaitFor(t, "the replica shows what the primary has", func() bool { return len(replica.List(t)) == 1 })
	for _, path := range []string{"/api/users", program.CSV} {
		answer := replica.Do(t, "GET", path, "")
		if cursor, sent := answer.Header["Changes-Cursor"]; sent || !strings.Contains(answer.Body, "ada@example.org") {
			t.Errorf("%s of a standby is %s with the cursor %v, want Ada and no cursor", path, answer.Body, cursor)
		}
	}
	replica.Do(t, "POST", "/api/users", program.Body("n", "e")).Expect(t, 500, "…read-only transaction…")
	feed := func() program.Answer { return replica.Do(t, "GET", "/api/changes", "") }
	feed().Expect(t, 500, "…a standby does not serve the feed of changes: ask a service…")
	standby.Promote(t)
	program.WaitFor(t, "it serves the feed", func() bool { return feed().Status == 200 })
	program.Forbid(t, replica.Log(), "old changes were not deleted") // a write to the standby
}

// A program must be able to tell a write that was refused from one that may have been stored.
func TestAProblemOfUnknownOutcomeHasACodeOfItsOwn(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	p, url := onServer(t, server)
	p.Create(t, "Ada", "ada@example.org")
	postgresql.SQL(t, url, "ALTER SYSTEM SET synchronous_standby_names = 'missing'")
	server.Reload(t)
	var answer program.Answer
	var wait sync.WaitGroup
	wait.Go(func() { answer, _ = p.Send("DELETE", "/api/users/1", "", "Accept: application/problem+json") })
	server.WaitUntil(t, "1", "SELECT count(*)::text FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
	postgresql.SQL(t, url, "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
	wait.Wait()
	postgresql.SQL(t, url, "ALTER SYSTEM RESET synchronous_standby_names")
	server.Reload(t)
	answer.Expect(t, 500, `…"code":"outcome_unknown"…`)
	p.ExpectUsers(t)
}
