package histories

import (
	"path/filepath"
	"testing"
)

func TestOneProcess(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 1, "DATA_DIR="+filepath.Join(t.TempDir(), "data"))
	s.faults = []fault{none, killed, paused}
	s.run()
}

func TestManyProcessesOnOneDatabase(t *testing.T) {
	t.Parallel()
	s := newSetup(t, processes, "DATA_DIR="+filepath.Join(t.TempDir(), "data"))
	s.faults = []fault{none, killed, paused}
	s.run()
}
