//go:build cluster

package cluster

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"users-api/tests/followers"
	"users-api/tests/ledger"
	"users-api/tests/postgresql"
	"users-api/tests/program"
)

// services are two processes of the service on one cluster.
type services struct {
	t       *testing.T
	cluster *postgresql.Cluster
	all     []*service
	ledger  *ledger.Ledger
	round   int
	pauses  map[string][]time.Duration // how long writes paused, by what happened
	cases   []string
}

// A service notes when it answers writes.
type service struct {
	*program.Program
	mu      sync.Mutex
	answers int
	last    time.Time
	pause   time.Duration // the longest time between two answers
}

func (s *service) answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.answers++
	s.pause = max(s.pause, now.Sub(s.last))
	s.last = now
}

// begin forgets the pauses before.
func (s *service) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last, s.pause, s.answers = time.Now(), 0, 0
}

func (s *service) state() (answers int, pause time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answers, s.pause
}

func (s *services) any() *program.Program { return s.all[rand.IntN(len(s.all))].Program }

// under writes with both services, and follows the feed, while something happens to the cluster. Afterwards both have all that
// was answered, and so have the followers.
func (s *services) under(t *testing.T, name string, happens func(*testing.T, *postgresql.Cluster) func()) {
	s.round++
	w := followers.Begin(t)
	for _, p := range s.all {
		for client := range 2 {
			s.write(w, p, fmt.Sprintf("%d-%d-%p", s.round, client, p))
		}
		p.begin()
	}
	var all []*followers.Follower
	for i, next := range []func(*followers.Follower) error{(*followers.Follower).Poll, (*followers.Follower).Poll} {
		f := &followers.Follower{Name: fmt.Sprint("follower ", i), Next: next, Any: s.any, Patient: true, Renews: true}
		all = append(all, f)
		w.Follow(f)
	}
	s.waitForWrites(t, 100)
	for _, p := range s.all {
		p.begin()
	}
	heal := happens(t, s.cluster)
	s.waitForWrites(t, 100)
	pauses := s.longest()
	heal()
	s.cluster.WaitUntilWhole(t)
	s.waitForWrites(t, 100)
	w.End()
	s.report(t, name, pauses, all)
	for _, p := range s.all {
		s.ledger.ExpectKept(t, p.Program)
	}
	for _, f := range all {
		f.Settle(t, s.any())
	}
}

// write writes as one client, until the end of the work.
func (s *services) write(w *followers.Work, p *service, client string) {
	i := 0
	w.Repeat(func() {
		i++
		id, err := s.ledger.Write(p.Program, client, i)
		if err == nil && id != 0 {
			p.answered()
		}
		if err != nil && !s.t.Failed() { // the first error says it all
			s.t.Error(err)
		}
	})
}

// waitForWrites waits until each service has answered some more.
func (s *services) waitForWrites(t *testing.T, more int) {
	t.Helper()
	for _, p := range s.all {
		before, _ := p.state()
		program.WaitFor(t, "users are written", func() bool {
			answers, _ := p.state()
			return answers >= before+more
		})
	}
}

func (s *services) longest() (pauses []time.Duration) {
	for _, p := range s.all {
		_, pause := p.state()
		pauses = append(pauses, pause)
	}
	return pauses
}

func (s *services) report(t *testing.T, name string, pauses []time.Duration, all []*followers.Follower) {
	t.Helper()
	if s.pauses == nil {
		s.pauses = map[string][]time.Duration{}
	}
	if !slices.Contains(s.cases, name) {
		s.cases = append(s.cases, name)
	}
	s.pauses[name] = append(s.pauses[name], slices.Max(pauses))
	t.Logf("writes pause %v, and at the end %v; %d users created, %d writes refused; followers export again %d and %d times",
		pauses, s.longest(), s.ledger.Size(), s.ledger.Refused(), all[0].Renewed, all[1].Renewed)
}

// summarize prints the pauses of all rounds.
func (s *services) summarize() {
	for _, name := range s.cases {
		pauses := slices.Sorted(slices.Values(s.pauses[name]))
		s.t.Logf("%s: writes pause %.1f s (%.1f to %.1f, %d rounds)", name,
			pauses[len(pauses)/2].Seconds(), pauses[0].Seconds(), pauses[len(pauses)-1].Seconds(), len(pauses))
	}
}
