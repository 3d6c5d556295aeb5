// Package faults proves what the program does when something it depends on fails: its files, its disk, its server, its clients,
// the reader of its log, and other programs that hold locks.
package faults

import (
	"testing"

	"users-api/tests/program"
)

func TestMain(m *testing.M) { program.Main(m) }
