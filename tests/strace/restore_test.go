//go:build strace

package strace

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"users-api/models"
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
			backup := program.BackUp(t, root)
			startClients(t, p, h, "old", 2, 5, "")()
			p.Kill(t)
			before, after := contentOf(t, root+"/users.db"), contentOf(t, backup)
			if gone {
				before = users{}
				program.Must(t, os.Remove(root+"/users.db"))
			}
			start := newDisk(t, root)
			process := recorder.run(root, "restore", backup)
			x := newRecording(recorder, start)
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
		return reopen(directory+"/users.db", func(_ *models.Users, found users) error {
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
	return reopen(kept[0], func(_ *models.Users, found users) error {
		if !maps.Equal(found, before) {
			return fmt.Errorf("as the old database, there is kept %s", found.short())
		}
		return nil
	})
}

// contentOf reads a copy of a database.
func contentOf(t *testing.T, path string) (content users) {
	t.Helper()
	directory := t.TempDir()
	for _, ending := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + ending)
		if err == nil {
			err = os.WriteFile(directory+"/users.db"+ending, data, 0o600)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	err := reopen(directory+"/users.db", func(_ *models.Users, found users) error {
		content = found
		return nil
	})
	program.Must(t, err)
	return content
}
