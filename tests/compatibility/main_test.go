// Package compatibility proves that the program serves databases that it did not make as they are: the tables of other
// programs, with their columns, their values, and the rules by which they refuse or change a write, and what earlier
// versions of it left behind, which testdata/make.sh has made.
package compatibility

import (
	"testing"

	"users-api/tests/program"
)

func TestMain(m *testing.M) { program.Main(m) }
