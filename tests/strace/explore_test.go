//go:build strace

package strace

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"users-api/tests/program"
)

// A check returns an error unless what a directory holds after a power cut agrees with what had been answered.
type check func(directory string, at int) error

// cutPower tries some states, or with -long as many as there is time for, and fails the test if one is wrong.
func (x *recording) cutPower(check check) {
	x.t.Helper()
	x.expectTrue()
	const scenarios = 6 // share what -long gives
	states, wrong := x.explore(check, 500, *program.Long/scenarios)
	x.t.Logf("%d states after power cuts in %d events", states, len(x.events))
	if wrong != nil {
		x.t.Error(wrong)
	}
}

// explore replays the trace and cuts it at about a hundred moments, again and again: until it has tried so many states for so
// long, or one is wrong.
func (x *recording) explore(check check, least int, took time.Duration) (states int, wrong error) {
	x.t.Helper()
	place, err := os.MkdirTemp("/dev/shm", "users-api") // the states need no disk
	if err != nil {
		place = x.t.TempDir()
	}
	for until := time.Now().Add(took); wrong == nil && (states < least || time.Now().Before(until)); {
		chosen := x.choose()
		program.Must(x.t, x.replay(func(at int, d *disk) {
			for range chosen[at] {
				if wrong != nil {
					return
				}
				c := anything()
				if rand.IntN(3) == 0 {
					c = onlyFlushed()
				}
				states++
				program.Must(x.t, d.writeTo(place, c))
				if err := check(place, at); err != nil {
					wrong = fmt.Errorf("%w\nafter a cut at event %d of %d. The last events:\n%s", err, at, len(x.events), x.lastEvents(at))
				}
				program.Must(x.t, os.RemoveAll(place))
			}
		}))
	}
	return states, wrong
}

// choose returns how many cuts are made after each event. One of four may be anywhere. The others follow a flush of a file
// or directory, or an answer, and each of these has the same chance, however often it is flushed.
func (x *recording) choose() map[int]int {
	const cuts = 100
	kinds := x.kinds()
	names := slices.Sorted(maps.Keys(kinds))
	chosen := map[int]int{len(x.events) - 1: 1}
	for range cuts {
		at := rand.IntN(len(x.events))
		if rand.IntN(4) > 0 {
			kind := kinds[names[rand.IntN(len(names))]]
			at = min(kind[rand.IntN(len(kind))]+int(rand.ExpFloat64()*10), len(x.events)-1)
		}
		chosen[at]++
	}
	return chosen
}

// kinds returns the events that cuts are made after: the flushes of each path, the first answer of each process, which is all that
// a command says, and the other answers.
func (x *recording) kinds() map[string][]int {
	kinds, started := map[string][]int{}, map[string]bool{}
	for at, event := range x.events {
		if _, path := event.file(); strings.HasSuffix(event.name, "sync") {
			kinds[path] = append(kinds[path], at)
		}
	}
	for _, at := range slices.Sorted(maps.Values(x.answers)) {
		kind := "answers"
		if process := x.events[at].process; !started[process] {
			kind, started[process] = "starts", true
		}
		kinds[kind] = append(kinds[kind], at)
	}
	return kinds
}

func (x *recording) lastEvents(at int) (text string) {
	for _, event := range x.events[max(0, at-40) : at+1] {
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
	states, wrong := other.explore(check, 2000, 0)
	if wrong == nil {
		x.t.Errorf("%s: nothing is wrong with %d states", what, states)
	}
	x.t.Logf("%s: found in state %d: %.200v", what, states, wrong)
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
