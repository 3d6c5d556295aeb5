// Package files proves imports and exports: what they accept and write, and that an import is stored completely or not at all.
package files

import (
	"testing"

	"users-api/tests/program"
)

func TestMain(m *testing.M) { program.Main(m) }
