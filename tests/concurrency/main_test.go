// Package concurrency proves what holds while many clients write at once, whatever else goes on: kills, stops, backups, imports
// and slow readers. That every answer fits one order is proved in histories. .ci/run repeats both with the race detector.
package concurrency

import (
	"testing"

	"users-api/tests/program"
)

func TestMain(m *testing.M) { program.Main(m) }
