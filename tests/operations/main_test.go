// Package operations proves what an operator sees: how the program starts, its commands and settings, its log and metrics, and the
// owners and modes of its files.
package operations

import (
	"testing"

	"users-api/tests/program"
)

func TestMain(m *testing.M) { program.Main(m) }
