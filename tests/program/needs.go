package program

import (
	"flag"
	"os"
	"testing"
)

// Long asks for the tests that take minutes, with a soak of this length, and for more repetitions of those in which
// much happens at once: go test ./tests/load ./tests/linearizability -long 15m
var Long = flag.Duration("long", 0, "run the tests that take minutes, with a soak of this length, and repeat more often what depends on chance")

// NeedsRoot skips a test that mounts or changes owners where that is not allowed.
func NeedsRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to mount a small disk or to become another user")
	}
}

// Times is how often a test repeats what depends on chance: often with -long, and a few times without.
func Times(few, often int) int {
	if *Long > 0 {
		return often
	}
	return few
}

// NeedsLong skips a test that takes minutes, unless -long asks for it.
func NeedsLong(t *testing.T) {
	t.Helper()
	if *Long == 0 {
		t.Skip("takes minutes: go test ./tests/load -timeout 60m -long 15m")
	}
}
