//go:build !postgres

package linearizability

import (
	"os"
	"path/filepath"
	"testing"

	"users-api/tests/program"
)

// processes is how many serve one database.
const processes = 2

// The disk of the database is full for a while.
func TestOnAFullDisk(t *testing.T) {
	t.Parallel()
	directory := program.SmallDisk(t, "32m")
	s := newSetup(t, same(processes, "DATA_DIR="+directory)...)
	s.run(fault{"the disk is full", func(s *setup) func() {
		ballast := filepath.Join(directory, "ballast")
		program.FillDisk(t, ballast)
		s.wait(50)
		return func() { program.Must(t, os.Remove(ballast)) }
	}})
}
