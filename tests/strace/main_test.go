//go:build strace

// Package strace proves what a test can otherwise see only after a power cut: what is flushed to disk, in what order
// (here), and what is left of the database if the power is cut at any moment (power_test.go).
//
// A recorder runs the program under strace (trace_test.go). From what it did, a disk is computed that holds what is
// certain after each call (disk_test.go), and from that the files that may be left (cut_test.go). They are opened like
// those of a killed service, and compared with what clients had been answered by then (history_test.go).
package strace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"users-api/tests/program"
)

func TestMain(m *testing.M) { program.Main(m) }

// expectNameFlushed fails the test unless a call that gives a name to something is followed by a flush of the directory.
func expectNameFlushed(t *testing.T, calls []*call, name, pattern string) {
	t.Helper()
	given := false
	for _, c := range calls {
		if given && isFlush(filepath.Dir(pattern))(event{call: c}) && c.result >= 0 {
			return
		}
		if strings.HasPrefix(c.name, name) && c.result >= 0 {
			matches, _ := filepath.Match(pattern, c.texts[len(c.texts)-1])
			given = given || matches
		}
	}
	t.Errorf("the directory of %s is not flushed after its %s (which is in the trace: %t)", pattern, name, given)
}

// As root it makes them for another user. What any other user makes is in TestAPowerCutLosesNothingThatWasAnswered.
func TestEachDirectoryThatIsMadeForAnotherUserIsOnDisk(t *testing.T) {
	recorder, root := newRecorder(t), t.TempDir()
	program.Must(t, os.Chmod(filepath.Dir(root), 0o755)) // for the other user
	p := program.Start(t, recorder.script, "RUN_AS=65532", "DATA_DIR="+root+"/a/b", "BACKUP_EVERY=1h")
	p.WaitForLog(t, "backup made")
	p.Kill(t)
	for _, made := range []string{"/a", "/a/b", "/a/b/backups"} {
		expectNameFlushed(t, recorder.read(), "mkdir", root+made)
	}
}

func TestTheWALFileOfAReplacedDatabaseIsMovedAwayOnDisk(t *testing.T) {
	recorder, root := newRecorder(t), t.TempDir()
	p := program.Start(t, recorder.script, "DATA_DIR="+root)
	p.Create(t, "Ada", "ada@example.org")
	program.Must(t, os.Rename(program.BackUp(t, root), root+"/users.db"))
	p.Wait(t)
	expectNameFlushed(t, recorder.read(), "rename", root+"/users.db-wal.lost-*")
}
