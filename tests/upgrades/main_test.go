// Package upgrades proves that this version serves what earlier ones left behind. testdata/make.sh has made that.
package upgrades

import (
	"testing"

	"users-api/tests/program"
)

func TestMain(m *testing.M) { program.Main(m) }
