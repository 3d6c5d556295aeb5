package routes

import (
	"flag"
	"testing"
)

// TestMain runs more tests at a time than there are processors: most of them wait for a disk, a client or a time limit.
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "8")
	m.Run()
}
