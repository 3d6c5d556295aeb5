//go:build strace

package strace

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"users-api/tests/program"
)

func TestAPowerCutDuringARestoreLeavesTheOldOrTheNewDatabase(t *testing.T) {
	for name, gone := range map[string]bool{
		"beside the -wal file of a killed service": false,
		"beside one without a database":            true,
	} {
		t.Run(name, func(t *testing.T) {
			recorder, root, h := newRecorder(t), t.TempDir(), newHistory()
			p := program.Serve(t, "DATA_DIR="+root)
			startClients(t, p, h, "new", 2, 5, "")()
			backup, after := program.BackUp(t, root), listed(t, p)
			startClients(t, p, h, "old", 2, 5, "")()
			before := listed(t, p)
			p.Kill(t)
			if gone {
				before = users{}
				program.Must(t, os.Remove(root+"/users.db"))
			}
			start := copyOf(t, root)
			process := recorder.run(root, "restore", backup)
			x := newRecording(recorder, root, start)
			check := x.expectOldOrNew(process, before, after)
			x.cutPower(check)

			x.expectFound("a restored file that is not flushed", check, isFlush(root+"/users.db.*.partial"))
			x.expectFound("a restored file whose name is not flushed", check, isFlush(root))
		})
	}
}

// expectOldOrNew returns a check that the old database is there, or the new one and beside it the old one.
func (x *recording) expectOldOrNew(process string, before, after users) check {
	return func(directory string, at int) error {
		return reopen(directory+"/users.db", func(found users) error {
			if maps.Equal(found, before) && at < x.answers[process] {
				return nil
			}
			if !maps.Equal(found, after) {
				return fmt.Errorf("after the cut there are %s", found.short())
			}
			return expectKept(directory, before)
		})
	}
}

// expectKept returns an error unless a restore has kept the old database.
func expectKept(directory string, before users) error {
	if len(before) == 0 {
		return nil // there was none
	}
	kept, _ := filepath.Glob(directory + "/users.db.replaced-*Z")
	if len(kept) != 1 {
		return fmt.Errorf("the old database is kept as %q", kept)
	}
	return reopen(kept[0], func(found users) error {
		if !maps.Equal(found, before) {
			return fmt.Errorf("as the old database, there is kept %s", found.short())
		}
		return nil
	})
}
