package sqlite

import (
	"flag"
	"os"
	"testing"

	"users-api/models/storetest"
)

// TestMain runs more tests at a time than there are processors: most of them wait for a disk, a lock or a time limit.
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "8")
	os.Exit(storetest.Main(m))
}
