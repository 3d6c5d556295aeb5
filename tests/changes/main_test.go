// Package changes proves that a client that keeps a copy of the users by the feed of changes misses nothing, whatever
// other programs do to the tables, and whatever becomes of the server. linearizability has one that follows the feed
// while many clients write and processes are killed.
package changes

import (
	"testing"

	"users-api/tests/program"
)

func TestMain(m *testing.M) { program.Main(m) }
