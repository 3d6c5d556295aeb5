// Package histories proves that there is one order of everything that clients ask of several processes in which each
// answer is right, whatever is killed, paused, cut off or full meanwhile.
package histories

import (
	"testing"

	"users-api/tests/program"
)

func TestMain(m *testing.M) { program.Main(m) }
