package linearizability

import (
	"flag"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"users-api/tests/program"
)

var givenSeed = flag.Uint64("seed", 0, "repeat the choices of a run that has printed this seed")

const (
	clients     = 6
	enough      = 350 // requests in a round
	most        = 500 // more take porcupine longer
	mostUnknown = 16  // so many outcomes may be unknown: with a hundred, porcupine does not come to an end
)

// A setup is what the clients of one test ask, and what befalls it.
type setup struct {
	t        *testing.T
	random   *rand.Rand
	places   []*place
	other    func(*Recorder, *rand.Rand) // one request of another program, if there is one
	follower *program.Follower           // of the feed, if changes are recorded
	settle   func()                      // ends what storage still does for processes that are gone
	moved    bool                        // the processes do not know where storage is now

	history *Recorder // of the round under way
}

// A place is one process that clients ask. It may have been started again.
type place struct {
	atomic.Pointer[program.Program]
	settings []string
	through  *network // between clients and the process, if there is one
}

// same are the settings of n processes that have the same.
func same(n int, settings ...string) [][]string { return slices.Repeat([][]string{settings}, n) }

// newSetup returns a set-up of processes with settings of their own.
func newSetup(t *testing.T, settings ...[]string) *setup {
	t.Helper()
	seed := *givenSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d", seed)
	s := &setup{t: t, random: rand.New(rand.NewPCG(seed, 0)), settle: func() {}}
	for _, each := range settings {
		s.places = append(s.places, &place{settings: each})
	}
	for _, each := range s.places {
		each.start(t)
	}
	return s
}

// follow lets a client follow the feed, whose copy must be the list in the end.
func (s *setup) follow() { s.follower = &program.Follower{} }

func (e *place) start(t *testing.T) {
	t.Helper()
	e.enter(program.Serve(t, e.settings...))
}

// stop ends a process as an administrator does. It would wait 5 s for connections that clients have opened and not used yet.
func (e *place) stop(t *testing.T) {
	p := e.Load()
	p.Signal(syscall.SIGTERM)
	program.WaitFor(t, "nobody listens", func() bool { _, err := p.Send("GET", "/health", ""); return err != nil })
	program.Client().CloseIdleConnections()
	p.ExpectEnd(t, 0)
}

// enter lets clients ask a process.
func (e *place) enter(p *program.Program) {
	if e.through != nil {
		e.through.lead(p.URL)
		p = p.At("http://" + e.through.address())
	}
	e.Store(p)
}

// any returns one of the processes.
func (s *setup) any() *place { return s.places[s.random.IntN(len(s.places))] }

// run lets one round follow the other until each fault has come once, and -long is over. Each begins with what the one
// before has left.
func (s *setup) run(faults ...fault) {
	began := time.Now()
	for n := 0; (time.Since(began) < *program.Long || n < len(faults)) && !s.t.Failed(); n++ {
		what := faults[n%len(faults)]
		r := newRecorder(s.t, s.places[0].Load().List(s.t))
		s.round(r, what)
		r.Judge(s.places[0].Load().List(s.t))
		if s.other == nil { // who is recorded nowhere
			expectRecorded(s.t, s.places[0].Load())
		}
		requests, open := r.size()
		s.t.Logf("in round %d, %s: %d requests, of which %d have an unknown outcome", n, what.name, requests, open)
	}
}

// round lets clients ask while a fault comes and goes, and returns once no request is under way.
func (s *setup) round(r *Recorder, what fault) {
	seed, reads := s.random.Uint64(), []int{20, 60, 90}[s.random.IntN(3)]
	var wait sync.WaitGroup
	var over atomic.Bool
	ask := func(one func()) {
		wait.Go(func() {
			for all, _ := r.size(); !over.Load() || all < enough; all, _ = r.size() {
				if isFull(r) && !over.Load() {
					time.Sleep(time.Millisecond) // the fault is not over yet
					continue
				}
				one()
			}
		})
	}
	for i := range clients {
		client, random := r.Client(i, seed, reads), rand.New(rand.NewPCG(seed, uint64(i)))
		ask(func() { client.Ask(s.places[random.IntN(len(s.places))].Load()) })
	}
	if s.other != nil {
		random := rand.New(rand.NewPCG(seed, clients))
		ask(func() { s.other(r, random) })
	}
	settled := s.followDuring(&wait, &over)
	begin := s.random.IntN(enough / 2)
	s.history = r
	s.wait(begin)
	what.does(s)()
	over.Store(true)
	wait.Wait()
	if _, open := r.size(); open > 0 || s.moved {
		s.restart()
	}
	settled()
}

// followDuring lets the client that follows the feed do so during a round. What it returns compares its copy with the list.
func (s *setup) followDuring(round *sync.WaitGroup, over *atomic.Bool) (settled func()) {
	if s.follower == nil {
		return func() {}
	}
	round.Go(func() {
		for i := 0; !over.Load() && !s.t.Failed(); i++ {
			if err := s.follower.Step(s.places[i%len(s.places)].Load(), i%2); err != nil {
				s.t.Error(err)
			}
		}
	})
	return func() {
		s.follower.Settle(s.t, s.places[0].Load())
		program.Expect(s.t, "how often one who follows the feed had to begin", s.follower.Exports, 1)
	}
}

// isFull reports whether a history can be judged only if nothing is added while the fault lasts.
func isFull(r *Recorder) bool {
	all, open := r.size()
	return all > most || open >= mostUnknown
}

// wait returns when clients were answered n more requests, or ask no more.
func (s *setup) wait(n int) {
	begin, _ := s.history.size()
	program.WaitFor(s.t, "clients are answered", func() bool {
		all, _ := s.history.size()
		return all >= begin+n || isFull(s.history)
	})
}

// restart ends every process as an administrator does, and starts it again: no request is under way after that.
func (s *setup) restart() {
	for _, each := range s.places {
		each.stop(s.t)
	}
	s.settle()
	for _, each := range s.places {
		each.start(s.t)
	}
	s.moved = false
}
