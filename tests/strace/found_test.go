//go:build strace

package strace

import (
	"path/filepath"
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
			failed := *e.call
			failed.result = -1
			e.call = &failed
		}
		other.events = append(other.events, e)
	}
	began := time.Now()
	states, failures := other.explore(check, 2000, 0)
	if len(failures) == 0 {
		x.t.Errorf("%s: nothing is wrong with %d states", what, states)
		return
	}
	x.t.Logf("%s: found in state %d, in %s: %.200s", what, states, time.Since(began), failures[0])
}

// isFlush returns a function that recognises flushes of files whose path matches a pattern.
func isFlush(pattern string) func(event) bool {
	return func(e event) bool {
		_, path := e.file()
		matches, _ := filepath.Match(pattern, path)
		return matches && strings.HasSuffix(e.name, "sync")
	}
}
