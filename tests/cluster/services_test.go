//go:build cluster

package cluster

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"users-api/tests/postgresql"
	"users-api/tests/program"
)

// services are two processes of the service on one cluster.
type services struct {
	cluster *postgresql.Cluster
	all     []*service
	round   int
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

// under writes with both services, and follows the feed, while something happens to the machine that has a role, and
// returns how long writes paused. Afterwards both have all that was answered, and so has one who follows.
func (s *services) under(t *testing.T, role string, happens, heal func(*machine, testing.TB)) (pause time.Duration) {
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
	affected := s.cluster.WaitFor(t, role, nil)
	happens(affected, t)
	s.cluster.WaitFor(t, role, affected)
	s.waitForWrites(t, 100)
	for _, p := range s.all {
		p.mu.Lock()
		pause = max(pause, p.pause)
		p.mu.Unlock()
	}
	heal(affected, t)
	s.cluster.WaitUntilWhole(t)
	s.waitForWrites(t, 100)
	over.Store(true)
	wait.Wait()
	for _, p := range s.all {
		p.writers.StopAndExpect(t, s.all[0].Program, s.all[1].Program)
	}
	follower.Settle(t, s.any())
	return pause
}

// waitForWrites waits until each service has answered some more.
func (s *services) waitForWrites(t *testing.T, more int) {
	t.Helper()
	for _, p := range s.all {
		p.writers.WaitFor(t, more)
	}
}
