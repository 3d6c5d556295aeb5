// Package load proves what holds under heavy load and with large files. Most of its tests take minutes and run with
// -long alone.
package load

import (
	"testing"

	"users-api/tests/program"
)

func TestMain(m *testing.M) { program.Main(m) }
