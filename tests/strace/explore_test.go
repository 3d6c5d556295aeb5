//go:build strace

package strace

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"users-api/tests/program"
)

// A check returns an error unless what a directory holds after a power cut agrees with what had been answered.
type check func(directory string, at int) error

// An exploration cuts the power at random moments, and checks what the disk may hold then.
type exploration struct {
	*recording
	check    check
	memory   string // a directory for what is made
	mu       sync.Mutex
	states   int
	failures []string
}

// cutPower tries some states, or with -long as many as there is time for, and fails the test if one is wrong.
func (x *recording) cutPower(check check) {
	x.t.Helper()
	x.expectTrue()
	const scenarios = 6 // share what -long gives
	states, failures := x.explore(check, 500, *program.Long/scenarios)
	x.t.Logf("%d states after power cuts in %d events", states, len(x.events))
	if len(failures) > 0 {
		x.t.Error(failures[0])
	}
}

// explore tries at least so many states for at least so long, or until some are wrong. It returns how many it has tried,
// and what was wrong.
func (x *recording) explore(check check, least int, took time.Duration) (states int, failures []string) {
	memory, err := os.MkdirTemp("/dev/shm", "users-api") // the states need no disk
	if err != nil {
		memory = x.t.TempDir()
	}
	defer os.RemoveAll(memory) //nolint:errcheck // the system cleans up as well
	e := &exploration{recording: x, check: check, memory: memory}
	for until := time.Now().Add(took); (e.states < least || time.Now().Before(until)) && len(e.failures) == 0; {
		e.pass()
	}
	return e.states, e.failures
}

// pass replays the trace and cuts it at about a hundred moments.
func (e *exploration) pass() {
	chosen := e.choose()
	var wait sync.WaitGroup
	defer wait.Wait()
	places := make(chan string, runtime.GOMAXPROCS(0))
	for i := range cap(places) {
		places <- filepath.Join(e.memory, fmt.Sprint(i))
	}
	err := e.replay(func(at int, d *disk) {
		for range chosen[at] {
			place, c := <-places, anything()
			if rand.IntN(3) == 0 {
				c = onlyFlushed()
			}
			if err := d.writeTo(place, c); err != nil {
				e.t.Error(err)
			}
			wait.Go(func() { e.try(place, at); places <- place })
		}
	})
	program.Must(e.t, err)
}

// choose returns how many cuts are made after each event. One of four may be anywhere. The others follow a flush of a file
// or directory, or an answer, and each of these has the same chance, however often it is flushed.
func (e *exploration) choose() map[int]int {
	const cuts = 100
	kinds := e.kinds()
	names := slices.Sorted(maps.Keys(kinds))
	chosen := map[int]int{len(e.events) - 1: 1}
	for range cuts {
		at := rand.IntN(len(e.events))
		if rand.IntN(4) > 0 {
			kind := kinds[names[rand.IntN(len(names))]]
			at = min(kind[rand.IntN(len(kind))]+int(rand.ExpFloat64()*10), len(e.events)-1)
		}
		chosen[at]++
	}
	return chosen
}

// kinds returns the events that cuts are made after: the flushes of each path, the first answer of each process, which is all that
// a command says, and the other answers.
func (e *exploration) kinds() map[string][]int {
	kinds, started := map[string][]int{}, map[string]bool{}
	for at, event := range e.events {
		if _, path := event.file(); strings.HasSuffix(event.name, "sync") {
			kinds[path] = append(kinds[path], at)
		}
	}
	for _, at := range slices.Sorted(maps.Values(e.answers)) {
		kind := "answers"
		if process := e.events[at].process; !started[process] {
			kind, started[process] = "starts", true
		}
		kinds[kind] = append(kinds[kind], at)
	}
	return kinds
}

// try checks a state and removes it.
func (e *exploration) try(place string, at int) {
	err := e.check(place, at)
	if removed := os.RemoveAll(place); removed != nil {
		e.t.Error(removed)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.states++
	if err != nil {
		e.failures = append(e.failures, fmt.Sprintf("%v\nafter a cut at event %d of %d. The last events:\n%s",
			err, at, len(e.events), e.lastEvents(at)))
	}
}

func (e *exploration) lastEvents(at int) (text string) {
	for _, event := range e.events[max(0, at-40) : at+1] {
		text += fmt.Sprintf("  %s%.160s %.120q = %d, begins: %t\n",
			event.name, event.arguments, event.texts, event.result, event.begins)
	}
	return text
}

// What the service relies on is taken out of a trace, as if it had not done it. Each of these must be found.
func (x *recording) expectFound(what string, check check, missing func(event) bool) {
	x.t.Helper()
	other := *x
	other.events = nil
	for _, e := range x.events {
		if missing(e) {
			failed := *e.call
			failed.result = -1
			e.call = &failed
		}
		other.events = append(other.events, e)
	}
	states, failures := other.explore(check, 2000, 0)
	if len(failures) == 0 {
		x.t.Errorf("%s: nothing is wrong with %d states", what, states)
		return
	}
	x.t.Logf("%s: found in state %d: %.200s", what, states, failures[0])
}

// isFlush returns a function that recognises flushes of files whose path matches a pattern.
func isFlush(pattern string) func(event) bool {
	return func(e event) bool {
		_, path := e.file()
		matches, _ := filepath.Match(pattern, path)
		return matches && strings.HasSuffix(e.name, "sync")
	}
}

// answerBeforeCommits moves each answer before the last flush of the -wal file that it follows.
func (x *recording) answerBeforeCommits(wal string) {
	before, last := make([]int, len(x.events)), 0
	for at, e := range x.events {
		if e.begins && isFlush(wal)(e) {
			last = at
		}
		before[at] = last
	}
	for answer, at := range x.answers {
		x.answers[answer] = before[at]
	}
}
