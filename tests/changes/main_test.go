// Package changes proves that a client that keeps a copy of the users by the feed of changes misses nothing and gets
// nothing twice, whichever programs write, and whatever is killed meanwhile.
package changes

import (
	"testing"

	"users-api/tests/program"
)

func TestMain(m *testing.M) { program.Main(m) }
