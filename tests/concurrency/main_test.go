// Package concurrency proves what holds while many clients write at once: no confirmed write is lost, a refused one fails alone,
// and each read shows every commit that was complete before. .ci/run repeats these tests with the race detector.
package concurrency

import (
	"testing"

	"users-api/tests/program"
)

func TestMain(m *testing.M) { program.Main(m) }
