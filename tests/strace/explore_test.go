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

	"users-api/tests/program"
)

// A check returns an error unless what a directory holds after a power cut agrees with what had been answered.
type check func(directory string, at int) error

// cutPower tries some states, or with -long many, and fails the test if one is wrong.
func (x *recording) cutPower(check check) {
	x.t.Helper()
	x.expectTrue()
	states, wrong := x.explore(check, program.Times(500, 20_000))
	x.t.Logf("%d states after power cuts in %d events", states, len(x.events))
	if wrong != nil {
		x.t.Error(wrong)
	}
}

// explore replays the trace and cuts it at about a hundred moments, again and again: until it has tried so many states, or one
// is wrong.
func (x *recording) explore(check check, most int) (states int, wrong error) {
	x.t.Helper()
	place, err := os.MkdirTemp("/dev/shm", "users-api") // the states need no disk
	if err != nil {
		place = x.t.TempDir()
	}
	for wrong == nil && states < most {
		chosen := x.choose()
		x.replay(func(at int, d *disk) {
			for range chosen[at] {
				if wrong != nil {
					return
				}
				c := anything
				if rand.IntN(3) == 0 {
					c = onlyFlushed
				}
				states++
				d.writeTo(place, c)
				if err := check(place, at); err != nil {
					wrong = fmt.Errorf("%w\nafter a cut at event %d of %d. The last events:\n%s", err, at, len(x.events), x.lastEvents(at))
				}
				program.Must(x.t, os.RemoveAll(place))
			}
		})
	}
	return states, wrong
}

// choose returns how many cuts are made after each event. They follow a flush or an answer: those of each path and of each
// process have the same chance, however many they are.
func (x *recording) choose() map[int]int {
	kinds := map[string][]int{}
	for at, event := range x.events {
		if _, path := event.file(); strings.HasSuffix(event.name, "sync") {
			kinds[path] = append(kinds[path], at)
		}
	}
	for _, at := range x.answers {
		process := x.events[at].process
		kinds[process] = append(kinds[process], at)
	}
	names := slices.Sorted(maps.Keys(kinds))
	chosen := map[int]int{len(x.events) - 1: 1}
	for range 100 {
		kind := kinds[names[rand.IntN(len(names))]]
		chosen[min(kind[rand.IntN(len(kind))]+int(rand.ExpFloat64()*10), len(x.events)-1)]++
	}
	return chosen
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
	states, wrong := other.explore(check, 2000)
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
