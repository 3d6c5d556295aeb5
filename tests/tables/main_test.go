// Package tables proves that the program serves the tables of other programs: their columns and values, and the rules by which they
// refuse or change a write.
package tables

import (
	"testing"

	"users-api/tests/program"
)

func TestMain(m *testing.M) { program.Main(m) }
