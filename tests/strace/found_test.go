//go:build strace

package strace

import (
	"strings"
	"time"
)

// What the service relies on is taken out of a trace, as if it had not done it. Each of these must be found.
func (x *recording) expectFound(what string, check check, missing func(event) bool) {
	x.t.Helper()
	other := *x
	other.events = nil
	for _, e := range x.events {
		if missing(e) {
			e = event{&call{process: e.process, name: e.name, arguments: e.arguments, began: e.began, ended: e.ended, result: -1}, e.begins}
		}
		other.events = append(other.events, e)
	}
	began := time.Now()
	states, failures := other.explore(check, 10*time.Second)
	if len(failures) == 0 {
		x.t.Errorf("%s: nothing is wrong with %d states", what, states)
		return
	}
	x.t.Logf("%s: found in state %d, in %s: %.200s", what, states, time.Since(began), failures[0])
}

// isFlush returns a function that recognises flushes of files whose paths have an ending.
func isFlush(ending string) func(event) bool {
	return func(e event) bool {
		_, path := e.file()
		return strings.HasSuffix(e.name, "sync") && strings.HasSuffix(path, ending)
	}
}

// answerBeforeCommits moves each answer before the last flush of the -wal file that it followed.
func (x *recording) answerBeforeCommits() {
	before, last := make([]int, len(x.events)), 0
	for at, e := range x.events {
		if e.begins && isFlush("-wal")(e) {
			last = at
		}
		before[at] = last
	}
	for answer, at := range x.answers {
		x.answers[answer] = before[at]
	}
}
