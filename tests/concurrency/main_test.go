// Package concurrency proves what holds while many clients write and read at once: backups, imports and lists that are
// read late. That every answer fits one order is proved in linearizability. .ci/run repeats both with the race
// detector.
package concurrency

import (
	"testing"

	"users-api/tests/program"
)

func TestMain(m *testing.M) { program.Main(m) }
