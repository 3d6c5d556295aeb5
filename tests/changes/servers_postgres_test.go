//go:build postgres

package changes

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"users-api/tests/followers"
	"users-api/tests/postgresql"
	"users-api/tests/program"
)

// startOn starts two services on a database that another test cannot delay, and lets it record changes.
func startOn(t *testing.T, url string) *services {
	t.Helper()
	s := &services{t: t}
	setting := "DATABASE_URL=" + url
	for i := range s.live {
		s.live[i].Store(program.Serve(t, setting))
	}
	program.RunWith(t, []string{setting}, nil, "changes", "on").MustSucceed(t)
	for i := range s.live {
		s.live[i].Load().WaitForFeed(t)
	}
	return s
}

// patient returns a client that tries again while the server is away.
func (s *services) patient(name string) *followers.Follower {
	return &followers.Follower{Name: name, Next: (*followers.Follower).Poll, Any: s.any, Patient: true}
}

// writeOn writes with both services, and with psql: also without waiting for the disk, and in transactions that commit late.
// One of these is in another database of the server.
func (s *services) writeOn(w *followers.Work, url, elsewhere string) {
	var count atomic.Int64
	for range 4 {
		w.Repeat(func() { s.writeOne(&count) })
	}
	for _, statements := range []string{
		"SET synchronous_commit = off; INSERT INTO users (name, email) VALUES ('at once', 'o%d')",
		"SET synchronous_commit = off; UPDATE users SET name = 'at once %d' WHERE id %% 7 = 1",
		"BEGIN; UPDATE users SET name = 'late %d' WHERE id %% 31 = 2; SELECT pg_sleep(0.2); COMMIT",
	} {
		w.Repeat(func() { _ = psql(url, fmt.Sprintf(statements, next.Add(1))) })
	}
	w.Repeat(func() { _ = psql(elsewhere, "BEGIN; SELECT pg_current_xact_id(); SELECT pg_sleep(0.1); COMMIT") })
}

// newest is the number of the newest transaction of a server.
const newest = "pg_snapshot_xmax(pg_current_snapshot())::text::int8"

// waitForTransactions returns once a server has had n more transactions.
func waitForTransactions(t *testing.T, server *postgresql.Server, n int) {
	t.Helper()
	waitForTransaction(t, server, postgresql.Ask(t, server.URL("postgres"), fmt.Sprintf("SELECT (%s + %d)::text", newest, n)))
}

func waitForTransaction(t *testing.T, server *postgresql.Server, number string) {
	t.Helper()
	server.WaitUntil(t, "true", fmt.Sprintf("SELECT (%s >= %s)::text", newest, number))
}

// The standby lacks the last writes of the primary, and gives the numbers of their transactions to others. So clients that
// have seen them must export again, also one that comes back only then.
func TestACopyEndsAsTheListOfTheStandbyThatTakesOver(t *testing.T) {
	t.Parallel()
	primary := postgresql.Start(t)
	database, elsewhere := primary.NewDatabase(t), primary.NewDatabase(t)
	standby := primary.Standby(t)
	both := postgresql.At(t, database, primary, standby)
	s := startOn(t, both)
	w := followers.Begin(t)
	s.writeOn(w, both+"?target_session_attrs=read-write", elsewhere)
	away := s.patient("a follower that was away")
	all := []*followers.Follower{away, s.patient("follower 1"), s.patient("follower 2"), s.patient("follower 3")}
	for _, f := range all {
		f.Renews = true
	}
	for _, f := range all[1:] {
		w.Follow(f)
	}
	waitForTransactions(t, primary, 300)
	standby.Kill(t)
	waitForTransactions(t, primary, 300)
	program.WaitFor(t, "it has seen what the standby lacks", func() bool {
		return away.Step(0) == nil && away.HasBegun()
	})
	seen := postgresql.Ask(t, primary.URL("postgres"), "SELECT ("+newest+")::text")
	primary.Kill(t)
	standby.StartAgain(t)
	standby.Promote(t)
	waitForTransaction(t, standby, seen)
	waitForTransactions(t, standby, 100)
	w.End()
	for _, f := range all {
		f.Settle(t, s.any())
		if f.Renewed == 0 {
			t.Errorf("%s went on with a cursor of the primary", f.Name)
		}
	}
}

// A crash takes back what is not on the disk, and the numbers of its transactions. No client has seen any of it: each goes
// on from its cursor.
func TestACopyGoesOnAfterKillsOfTheServer(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t, "synchronous_commit=off", "wal_writer_delay=10s")
	database, elsewhere := server.NewDatabase(t), server.NewDatabase(t)
	s := startOn(t, database)
	all := []*followers.Follower{s.patient("follower 0"), s.patient("follower 1"), s.patient("follower 2")}
	settle := func() {
		for _, f := range all {
			f.Settle(t, s.any())
		}
	}
	for range program.Times(2, 15) {
		w := followers.Begin(t)
		s.writeOn(w, database, elsewhere)
		for _, f := range all {
			w.Follow(f)
		}
		waitForTransactions(t, server, 200+rand.IntN(100))
		server.Kill(t)
		server.StartAgain(t)
		waitForTransactions(t, server, 100)
		w.End()
		settle()
		insert(t, database) // nothing follows that would take it to the disk
		settle()
		server.Kill(t)
		server.StartAgain(t)
		insert(t, database)
		settle()
	}
}

func insert(t *testing.T, url string) {
	t.Helper()
	postgresql.SQL(t, url, fmt.Sprintf("INSERT INTO users (name, email) VALUES ('n', 'n%d')", next.Add(1)))
}
