// Package operating proves what an operator sees of the program: its commands and settings, how it starts and stops, the
// addresses it listens to, the owners and modes of its files, its log and its metrics, whether it is healthy and ready, and what
// systemd hears of it.
package operating

import (
	"testing"

	"users-api/tests/program"
)

func TestMain(m *testing.M) { program.Main(m) }
