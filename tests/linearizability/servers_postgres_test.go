//go:build postgres

package linearizability

import (
	"net/url"
	"testing"
	"time"

	"users-api/tests/postgresql"
	"users-api/tests/program"
)

// Three processes use one server, the last of them through PgBouncer, and each through a network that can fail.
func TestServersAndNetworksFail(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	database := server.NewDatabase(t)
	pooler := server.Pooler(t, "server_login_retry=0.1") // by default it refuses clients for 15 s after an outage
	var networks []*network
	var settings [][]string
	for _, behind := range []string{database, database, pooler.Through(database)} {
		name, err := url.Parse(behind)
		program.Must(t, err)
		n := newNetwork(t, name.Host)
		networks = append(networks, n)
		settings = append(settings, []string{"DATABASE_URL=" + postgresql.Through(t, behind, n.address())})
	}
	s := newSetup(t, settings...)
	s.settle = func() { endSessions(t, database) }
	s.follow()
	s.run(
		fault{"the server is killed", func(s *setup) func() {
			server.Kill(t)
			time.Sleep(time.Duration(s.random.IntN(300)) * time.Millisecond)
			return func() { server.StartAgain(t) }
		}},
		troubled("connections to the server fail", networks),
		fault{"the server is paused", func(s *setup) func() {
			server.Pause(t)
			time.Sleep(s.pause())
			return func() { server.Resume(t) }
		}},
		fault{"the pooler is restarted", func(*setup) func() { pooler.Restart(); return func() {} }},
		killed, paused,
	)
}

// A synchronous standby takes over from a primary that is killed. It gets a standby of its own before the next round.
func TestAStandbyTakesOver(t *testing.T) {
	t.Parallel()
	primary := postgresql.Start(t)
	database := primary.NewDatabase(t)
	standby := primary.Standby(t)
	primary.Synchronize(t)
	setting := func(first, second *postgresql.Server) []string {
		return []string{"DATABASE_URL=" + postgresql.At(t, database, first, second)}
	}
	s := newSetup(t, setting(primary, standby), setting(standby, primary), setting(primary, standby))
	s.settle = func() { endSessions(t, postgresql.At(t, database, primary)) }
	s.run(fault{"the standby takes over", func(s *setup) func() {
		primary.Kill(t)
		standby.Promote(t)
		s.wait(20)
		return func() {
			primary = standby
			standby = primary.Standby(t)
			primary.Synchronize(t)
			for _, each := range s.places {
				each.settings = setting(primary, standby)
			}
			s.moved = true
		}
	}})
}

// endSessions ends what the server does for others, and returns when it does nothing any more.
func endSessions(t *testing.T, database string) {
	t.Helper()
	const others = " FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
	for postgresql.Ask(t, database, "SELECT count(*)::text"+others) != "0" {
		postgresql.SQL(t, database, "SELECT pg_terminate_backend(pid)"+others)
	}
}

// processes is how many serve one database.
const processes = 3
