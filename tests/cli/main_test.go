// Package cli proves what an operator sees of the program: its commands and settings, how it starts and stops, the addresses it
// listens to, and the owners and modes of its files.
package cli

import (
	"testing"

	"users-api/tests/program"
)

func TestMain(m *testing.M) { program.Main(m) }
