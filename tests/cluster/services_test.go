//go:build cluster

package cluster

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"users-api/tests/postgresql"
	"users-api/tests/program"
)

// services are two processes of the service on one cluster.
type services struct {
	t       *testing.T
	cluster *postgresql.Cluster
	all     []*service
	round   int
	pauses  map[string][]time.Duration // how long writes paused, by what happened
}

// A service notes when it answers writes.
type service struct {
	*program.Program
	writers *program.Writers
	mu      sync.Mutex
	last    time.Time
	pause   time.Duration // the longest time between two answers
}

func (s *service) answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.pause = max(s.pause, now.Sub(s.last))
	s.last = now
}

// begin forgets the pauses before.
func (s *service) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last, s.pause = time.Now(), 0
}

func (s *services) any() *program.Program { return s.all[rand.IntN(len(s.all))].Program }

// under writes with both services, and follows the feed, while something happens to the cluster. Afterwards both have all that
// was answered, and so has one who follows.
func (s *services) under(t *testing.T, name string, happens func(*testing.T, *postgresql.Cluster) func()) {
	s.round++
	var over atomic.Bool
	var wait sync.WaitGroup
	repeat := func(what func()) {
		wait.Go(func() {
			for !over.Load() && !t.Failed() {
				what()
			}
		})
	}
	for _, p := range s.all {
		for client := range 2 {
			n := 0
			repeat(func() {
				n++
				if p.writers.Create(p.Program, fmt.Sprintf("%d-%d-%p-%d", s.round, client, p, n)) {
					p.answered()
				}
			})
		}
		p.begin()
	}
	follower := &program.Follower{}
	repeat(func() {
		if err := follower.Step(s.any(), 1); err != nil {
			t.Error(err)
		}
	})
	s.waitForWrites(t, 100)
	for _, p := range s.all {
		p.begin()
	}
	heal := happens(t, s.cluster)
	s.waitForWrites(t, 100)
	s.pauses[name] = append(s.pauses[name], s.longest())
	heal()
	s.cluster.WaitUntilWhole(t)
	s.waitForWrites(t, 100)
	over.Store(true)
	wait.Wait()
	for _, p := range s.all {
		p.writers.StopAndExpect(t, s.all[0].Program, s.all[1].Program)
	}
	follower.Settle(t, s.any())
}

// waitForWrites waits until each service has answered some more.
func (s *services) waitForWrites(t *testing.T, more int) {
	t.Helper()
	for _, p := range s.all {
		p.writers.WaitFor(t, more)
	}
}

func (s *services) longest() (pause time.Duration) {
	for _, p := range s.all {
		p.mu.Lock()
		pause = max(pause, p.pause)
		p.mu.Unlock()
	}
	return pause
}

// summarize prints the pauses of all rounds.
func (s *services) summarize() {
	for name, pauses := range s.pauses {
		slices.Sort(pauses)
		s.t.Logf("%s: writes pause %.1f s (%.1f to %.1f, %d rounds)", name,
			pauses[len(pauses)/2].Seconds(), pauses[0].Seconds(), pauses[len(pauses)-1].Seconds(), len(pauses))
	}
}
