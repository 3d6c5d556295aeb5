//go:build postgres

package availability

import (
	"fmt"
	"sync"
	"testing"

	"users-api/tests/ledger"
	"users-api/tests/postgresql"
	"users-api/tests/program"
)

// Two processes write to a primary with a synchronous standby. The primary is killed, and the standby takes its place:
// nothing that was answered is lost.
func TestWhenTheStandbyTakesOverNothingThatWasAnsweredIsLost(t *testing.T) {
	t.Parallel()
	primary := postgresql.Start(t)
	database := primary.NewDatabase(t)
	standby := primary.Standby(t)
	primary.Synchronize(t)
	setting := "DATABASE_URL=" + postgresql.At(t, database, standby, primary) // the one that cannot be written is passed over
	both := []*program.Program{program.Serve(t, setting), program.Serve(t, setting)}
	l := ledger.New()
	stopFirst, stopSecond := l.StartWriters(both[0], 8, "a"), l.StartWriters(both[1], 8, "b")
	program.WaitFor(t, "users are created", func() bool { return l.Size() > 400 })
	primary.Kill(t)
	standby.Promote(t)
	stopFirst()
	stopSecond()
	before := l.Size()
	for i, p := range both {
		program.WaitFor(t, "users are created again", func() bool {
			answer, err := p.Send("POST", "/api/users", program.Body("v0", fmt.Sprint("after", i)))
			if err != nil || answer.Status != 201 {
				return false
			}
			l.Created(answer.User(t).ID, fmt.Sprint("after", i))
			return true
		})
	}
	for _, p := range both {
		l.ExpectKept(t, p)
	}
	t.Logf("%d users were created before the primary was killed", before)
}

// The primary stands still, a standby takes its place, and the primary goes on as if nothing had happened. It is the first
// host in the URL, and accepts writes, but what it has is old.
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
		postgresql.SQL(t, standby.URL("postgres"), // so that new connections are made
			"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'users-api'")
	}
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

// A URL that names the standby alone reads from it, when it says so, and cannot write.
func TestAReadReplicaIsServedWhereTheURLAsksForIt(t *testing.T) {
	t.Parallel()
	primary := postgresql.Start(t)
	database := primary.NewDatabase(t)
	p := program.Serve(t, "DATABASE_URL="+database)
	p.Create(t, "Ada", "ada@example.org")
	standby := primary.Standby(t)
	replica := program.Serve(t, "DATABASE_URL="+postgresql.At(t, database, standby)+"?target_session_attrs=any")
	p.Create(t, "Alan", "alan@example.org")
	program.WaitFor(t, "the replica shows what the primary has", func() bool { return len(replica.List(t)) == 2 })
	replica.Do(t, "POST", "/api/users", program.Body("n", "e")).Expect(t, 500, "…")
}

// Behind PgBouncer in transaction mode each transaction may be another session's.
func TestBehindAPoolerEverythingIsAnswered(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t, postgresql.Scram)
	through := server.PgBouncer(t, "default_pool_size=3")
	setting := "DATABASE_URL=" + through(server.NewDatabase(t))
	both := []*program.Program{program.Serve(t, setting), program.Serve(t, setting)}
	id := both[0].Create(t, "Ada", "ada@example.org")
	both[1].Change(t, id, `{"name":"Ada King"}`)
	both[1].Delete(t, id)
	both[0].Do(t, "POST", program.CSV, program.ManyRows(1000)).Expect(t, 200, program.Imported(1000, 0, 0, 0))
	for query, want := range map[string]int{"": 1000, "?q=person+1": 111, "?limit=10&order=desc": 10} {
		if users := both[1].Do(t, "GET", "/api/users"+query, "").Users(t); len(users) != want {
			t.Errorf("%s lists %d users", query, len(users))
		}
	}
	first := both[0].Do(t, "GET", "/api/users", "")
	both[0].Do(t, "GET", "/api/users", "", "If-None-Match: "+first.Header.Get("ETag")).Expect(t, 304, "")
	l := ledger.New()
	for _, user := range both[0].List(t) {
		l.Created(user.ID, user.Email)
	}
	stop := l.StartWriters(both[0], 8, "w")
	program.WaitFor(t, "users are created", func() bool { return l.Size() > 1200 })
	stop()
	l.ExpectKept(t, both[1])
}

// PgBouncer before 1.21 has no prepared statements, and one of this process is another's: what to do is said at startup, and by an
// import of which it is no row's fault.
func TestAnOldPoolerWithoutTheParameterThatItNeedsEndsTheStartAndEachImport(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	pooler := server.Pooler(t, "default_pool_size=1")
	if !pooler.IsOld() {
		t.Skip("PgBouncer 1.21 and newer have prepared statements")
	}
	database := server.NewDatabase(t)
	program.Serve(t, "DATABASE_URL="+pooler.Through(database)).Stop(t)
	launch := func() *program.Program {
		return program.Launch(t, program.Path(), "DATABASE_URL="+pooler.Plain(database))
	}
	const says = "before PgBouncer 1.21, add default_query_exec_mode=exec to DATABASE_URL"
	first := launch()
	first.WaitForAddress(t)
	program.ExpectRefusal(t, launch(), "already exists", says)
	postgresql.SQL(t, database, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'users-api'")
	second := launch() // has prepared what a start needs in another session of the server
	second.WaitForAddress(t)
	second.Do(t, "POST", program.CSV, "name,email\nAda,ada\n").Expect(t, 200, "…")
	first.Do(t, "POST", program.CSV, "name,email\nAlan,alan\n").Expect(t, 500, "…(SQLSTATE 42P05): "+says+"…")
}

// The certificate is checked when the URL asks for it, and a server that wants encryption gets it.
func TestAConnectionIsEncryptedAndTheServerChecked(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	database := server.NewDatabase(t)
	root, other := server.RequireTLS(t), postgresql.Start(t).RequireTLS(t)
	checked := program.Serve(t, "DATABASE_URL="+database+"?sslmode=verify-full&sslrootcert="+root)
	checked.Create(t, "Ada", "ada@example.org")
	program.Serve(t, "DATABASE_URL="+database).Create(t, "Alan", "alan@example.org") // prefer
	checked.ExpectUsers(t, "Ada", "Alan")
	for parameters, says := range map[string]string{
		"?sslmode=verify-full&sslrootcert=" + other: "certificate",
		"?sslmode=disable":                          "pg_hba.conf",
	} {
		p := program.Launch(t, program.Path(), "DATABASE_URL="+database+parameters)
		program.ExpectRefusal(t, p, says)
		program.Forbid(t, p.Log(), "pass/word", "pass%2F")
	}
}
