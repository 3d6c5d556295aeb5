//go:build cluster

// Package cluster proves what docs/postgresql.md promises of the cluster that it describes: no write that was answered is lost,
// whichever machine is lost, and writes go on by themselves. It says how long they pause.
package cluster

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"users-api/tests/postgresql"
	"users-api/tests/program"
)

func TestMain(m *testing.M) { program.Main(m) }

// documented returns the set-up of docs/postgresql.md. Without -long, Patroni gives up sooner than it says there.
func documented(t *testing.T) postgresql.Documented {
	t.Helper()
	config := program.ReadFile(t, "../../docs/patroni.yml")
	if *program.Long == 0 {
		config = strings.NewReplacer("ttl: 30", "ttl: 8", "loop_wait: 10", "loop_wait: 1", "retry_timeout: 10",
			"retry_timeout: 3").Replace(config)
	}
	url := regexp.MustCompile(`'(postgres://[^']*10\.0\.0\.1,[^']*)' users-api`).FindStringSubmatch(program.ReadFile(t, "../../docs/postgresql.md"))
	if url == nil {
		t.Fatal("docs/postgresql.md has not the URL with all hosts")
	}
	return postgresql.Documented{Config: config, EtcdEnvironment: program.ReadFile(t, "../../docs/etcd.env"),
		ServerEnvironment: program.ReadFile(t, "../../docs/patroni.env"), URL: url[1]}
}

// The cases follow each other on one cluster: what is lost in one is a standby in the next.
func TestNoWriteThatWasAnsweredIsLost(t *testing.T) {
	cluster := postgresql.StartCluster(t, documented(t))
	setting := "DATABASE_URL=" + cluster.URL
	s, pauses := &services{cluster: cluster}, map[string][]time.Duration{}
	s.all[0], s.all[1] = program.Serve(t, setting), program.Serve(t, setting)
	for round := range program.Times(1, 3) {
		for _, fault := range faults {
			t.Run(fmt.Sprintf("%s, %d", fault.name, round), func(t *testing.T) {
				pause := s.under(t, fault.role, fault.happens, fault.heal)
				pauses[fault.name] = append(pauses[fault.name], pause)
			})
			if t.Failed() {
				return
			}
		}
	}
	for name, of := range pauses {
		slices.Sort(of)
		t.Logf("%s: writes pause %.1f s (%.1f to %.1f, %d rounds)", name,
			of[len(of)/2].Seconds(), of[0].Seconds(), of[len(of)-1].Seconds(), len(of))
	}
}

// services are two processes of the service on one cluster.
type services struct {
	cluster *postgresql.Cluster
	all     [2]*program.Program
	writers []*program.Writers // of each round and process
}

// under writes with both services, and follows the feed, while something happens to the machine that has a role, and
// returns how long writes paused. Afterwards both have all that was ever answered, and so has one who follows.
func (s *services) under(t *testing.T, role string, happens, heal func(*machine, testing.TB)) (pause time.Duration) {
	var over atomic.Bool
	var following sync.WaitGroup
	follower := &program.Follower{}
	following.Go(func() {
		for i := 0; !over.Load() && !t.Failed(); i++ {
			if err := follower.Step(s.all[i%2], 1); err != nil {
				t.Error(err)
			}
		}
	})
	writers := []*program.Writers{program.StartWriters(2, s.all[0]), program.StartWriters(2, s.all[1])}
	s.writers = append(s.writers, writers...)
	wait := func() {
		for _, w := range writers {
			w.WaitFor(t, 100)
		}
	}
	wait()
	affected := s.cluster.WaitFor(t, role, nil)
	for _, w := range writers {
		w.Pause() // what comes is of what happens
	}
	happens(affected, t)
	s.cluster.WaitFor(t, role, affected)
	wait()
	pause = max(writers[0].Pause(), writers[1].Pause())
	heal(affected, t)
	s.cluster.WaitUntilWhole(t)
	wait()
	over.Store(true)
	following.Wait()
	for _, w := range s.writers {
		w.StopAndExpect(t, s.all[:]...)
	}
	follower.Settle(t, s.all[0])
	return pause
}

type machine = postgresql.Machine

// faults are what happens to the machine that has a role, until Patroni has given it to another, and what heals it.
var faults = []struct {
	name, role    string
	happens, heal func(*machine, testing.TB)
}{
	{"the leader's machine is killed", "leader", (*machine).Kill, (*machine).StartAgain},
	{"the leader's machine stands still until it is reset", "leader", reset, (*machine).StartAgain},
	{"another machine is made the leader", "leader", switchOver, func(*machine, testing.TB) {}},
	{"the synchronous standby is killed", "sync_standby", (*machine).Kill, (*machine).StartAgain},
	{"the synchronous standby stands still", "sync_standby", (*machine).Pause, (*machine).Resume},
}

// reset is what a watchdog does with a leader's machine that stands still.
func reset(m *machine, t testing.TB) {
	m.Pause(t)
	m.Cluster.WaitFor(t, "leader", m)
	m.Kill(t)
}

func switchOver(m *machine, t testing.TB) {
	standby := m.Cluster.WaitFor(t, "sync_standby", nil).Name
	m.Cluster.Patronictl(t, "switchover", "--force", "--leader", m.Name, "--candidate", standby, "users")
}
