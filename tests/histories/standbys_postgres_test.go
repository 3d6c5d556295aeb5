//go:build postgres

package histories

import (
	"testing"

	"users-api/tests/postgresql"
)

// late is a standby that does not replay what it receives.
func late(standby *postgresql.Server) fault {
	return fault{"a standby is late", func(s *setup) func() {
		postgresql.SQL(s.t, standby.URL("postgres"), "SELECT pg_wal_replay_pause()")
		s.wait(30)
		return func() { postgresql.SQL(s.t, standby.URL("postgres"), "SELECT pg_wal_replay_resume()") }
	}}
}

// Processes read from two standbys, which are late, paused, killed, and the first of them synchronous: then it shows commits
// before the primary does.
//
// A standby shows commits in the order of the log, and the primary in the order in which its processes have noticed that they
// are done: of two writes under way at the same time, a list from a standby has shown one alone, and a count by the primary
// meanwhile the other alone.
func TestReadsFromStandbys(t *testing.T) {
	t.Parallel()
	primary := postgresql.Start(t, "max_connections=200", "max_standby_streaming_delay=0")
	first, second := primary.Standby(t), primary.Standby(t)
	database := primary.NewDatabase(t)
	primary.AwaitReplay(t, first)
	primary.AwaitReplay(t, second)
	s := newSetup(t, processes, "DATABASE_URL="+database,
		"DATABASE_READ_URL="+at(t, database, addressOf(first)+","+addressOf(second)))
	s.settle = func() { endSessions(t, database) }
	s.forks = true
	s.faults = []fault{none, late(first),
		{"a standby is paused", func(s *setup) func() {
			second.Pause(s.t)
			s.wait(30)
			return func() { second.Resume(s.t) }
		}},
		{"a standby is killed", func(s *setup) func() {
			second.Kill(s.t)
			s.wait(30)
			return func() { second.StartAgain(s.t) }
		}},
		{"the table is vacuumed", func(s *setup) func() {
			postgresql.SQL(s.t, database, "VACUUM users")
			return func() {}
		}},
		{"a standby is synchronous", func(s *setup) func() {
			postgresql.SQL(s.t, primary.URL("postgres"), "ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
			s.wait(60)
			return func() {
				postgresql.SQL(s.t, primary.URL("postgres"), "ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")
			}
		}},
		killed,
	}
	s.run()
}
