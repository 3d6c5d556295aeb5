//go:build strace

// Package strace proves what a test can otherwise see only after a power cut: what is flushed to disk, in what order
// (here), and what is left of the database if the power is cut at any moment (power_test.go).
//
// A recorder runs the program under strace (trace_test.go). From what it did, a disk is computed that holds what is
// certain after each call, and the files that may be left (disk_test.go). They are opened like those of a killed service, and
// compared with what clients had been answered by then (history_test.go).
package strace

import (
	"os"
	"strings"
	"testing"

	"users-api/tests/program"
)

func TestMain(m *testing.M) { program.Main(m) }

func TestTheWALFileOfAReplacedDatabaseIsMovedAwayOnDisk(t *testing.T) {
	recorder, root := newRecorder(t), t.TempDir()
	p := program.Start(t, recorder.script, "DATA_DIR="+root)
	p.Create(t, "Ada", "ada@example.org")
	program.Must(t, os.Rename(program.BackUp(t, root), root+"/users.db"))
	p.Wait(t)
	isMoved := false
	for _, c := range recorder.read() {
		if isMoved && isFlush(root)(event{call: c}) {
			return
		}
		isMoved = isMoved || strings.HasPrefix(c.name, "rename") && strings.Contains(c.texts[1], "/users.db-wal.lost-")
	}
	t.Errorf("the directory is not flushed after the file is moved (which is in the trace: %t)", isMoved)
}
