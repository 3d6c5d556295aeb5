package linearizability

import (
	"path/filepath"
	"testing"

	"users-api/tests/program"
)

func database(t *testing.T) string { return "DATA_DIR=" + filepath.Join(t.TempDir(), "data") }

func TestOneProcess(t *testing.T) {
	t.Parallel()
	s := newSetup(t, same(1, database(t))...)
	s.run(none, killed, stopped, paused)
	s.places[0].Load().Kill(t)
	program.ExpectIntact(t, s.places[0].Load().DatabasePath())
}

func TestManyProcessesOnOneDatabase(t *testing.T) {
	t.Parallel()
	settings := same(processes, database(t))
	settings[0] = append(settings[0], "LIST_MEMORY_MIB=0") // it reads each list while it sends it
	s := newSetup(t, settings...)
	s.run(none, killed, paused)
}

func TestAnotherProgramBesideTheService(t *testing.T) {
	t.Parallel()
	s := newSetup(t, same(processes, database(t))...)
	s.other = newShell(t, s.places[0].Load()).ask
	s.run(none, killed, paused)
}

func TestACopyThatFollowsTheFeedEndsAsTheList(t *testing.T) {
	t.Parallel()
	s := newSetup(t, same(processes, database(t))...)
	s.follow()
	s.other = newShell(t, s.places[0].Load()).ask
	s.run(none, killed, paused)
}

func TestClientsWhoseConnectionsFail(t *testing.T) {
	t.Parallel()
	s := newSetup(t, same(processes, database(t))...)
	var networks []*network
	for _, each := range s.places {
		each.through = newNetwork(t, "127.0.0.1:1")
		each.enter(each.Load())
		networks = append(networks, each.through)
	}
	s.run(troubled("connections of clients fail", networks))
}
