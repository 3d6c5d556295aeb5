//go:build postgres

package api

import (
	"fmt"
	"testing"

	"users-api/tests/postgresql"
	"users-api/tests/program"
)

// serveOn starts the program on a database, and lets it record changes.
func serveOn(t *testing.T, url string) *program.Program {
	t.Helper()
	setting := "DATABASE_URL=" + url
	p := program.Serve(t, setting)
	program.RunWith(t, []string{setting}, nil, "changes", "on").MustSucceed(t)
	p.WaitForFeed(t)
	return p
}

// A transaction that commits late has a lower number than one that was read before.
func TestAChangeThatCommitsLateIsNotMissed(t *testing.T) {
	t.Parallel()
	p := program.ServeFeed(t)
	f := &program.Follower{}
	f.Settle(t, p)
	late := program.OpenOther(t, p.DatabasePath())
	late.Do("BEGIN", "INSERT INTO users (name, email) VALUES ('late', 'late')")
	p.Create(t, "n", "soon")
	for range 3 {
		program.Must(t, f.Step(p, 0))
	}
	late.Do("COMMIT")
	f.Settle(t, p)
}

// A crash takes back what is not on the disk, and the numbers of its transactions. No client has seen any of it: each
// goes on from its cursor.
func TestACopyGoesOnAfterACrashOfTheServer(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t, "synchronous_commit=off", "wal_writer_delay=10s")
	database := server.NewDatabase(t)
	p, f := serveOn(t, database), &program.Follower{}
	for i := range program.Times(3, 30) {
		postgresql.SQL(t, database, fmt.Sprintf("INSERT INTO users (name, email) VALUES ('n', 'before %d')", i))
		f.Settle(t, p) // nothing follows that would take it to the disk
		server.Kill(t)
		server.StartAgain(t)
		postgresql.SQL(t, database, fmt.Sprintf("INSERT INTO users (name, email) VALUES ('n', 'after %d')", i))
		f.Settle(t, p)
	}
	if f.Exports != 1 {
		t.Errorf("the client had to begin again, %d times", f.Exports-1)
	}
}

// The standby lacks the last writes of the primary, and gives the numbers of their transactions to others. So clients
// that have seen them must begin again, also one that comes back only then.
func TestACopyBeginsAgainOnAStandbyThatLacksSomeOfIt(t *testing.T) {
	t.Parallel()
	const newest = "pg_snapshot_xmax(pg_current_snapshot())::text::int8"
	primary := postgresql.Start(t)
	database := primary.NewDatabase(t)
	standby := primary.Standby(t)
	p := serveOn(t, postgresql.At(t, database, primary, standby))
	soon := &program.Follower{}
	soon.Settle(t, p)
	primary.AwaitReplay(t, standby)
	standby.Kill(t)
	for i := range 5 {
		p.Create(t, "lost", fmt.Sprint("lost ", i))
	}
	soon.Settle(t, p)
	late := soon.Clone()
	seen := postgresql.Ask(t, primary.URL("postgres"), "SELECT "+newest)
	primary.Kill(t)
	standby.StartAgain(t)
	standby.Promote(t)
	program.WaitFor(t, "the standby is read", func() bool { return p.Do(t, "GET", "/api/users", "").Body == "[]" })
	soon.Settle(t, p)
	for i := 0; postgresql.Ask(t, standby.URL("postgres"), "SELECT "+newest+" > "+seen) != "t"; i++ {
		p.Create(t, "n", fmt.Sprint("after ", i))
	}
	late.Settle(t, p)
	if soon.Exports != 2 || late.Exports != 2 {
		t.Errorf("they began %d and %d times: they go on with a cursor of the primary", soon.Exports, late.Exports)
	}
}
