//go:build strace

package strace

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"users-api/tests/program"
)

func TestAPowerCutLosesNothingThatACommandHasDone(t *testing.T) {
	recorder, root, h := newRecorder(t), t.TempDir(), newHistory()
	start := copyOf(t, root)
	p := program.Start(t, recorder.script, "DATA_DIR="+root+"/data", "BACKUP_EVERY=1h", "BACKUP_DIR="+root+"/backups")
	p.WaitForLog(t, "backup made")
	commands := []struct{ command, done string }{ // and a query that is 1 once it is done
		{"add-field nickname", "SELECT count(*) FROM pragma_table_info('users') WHERE name = 'nickname'"},
		{"ignore-email-case", "SELECT count(*) FROM sqlite_schema WHERE name = 'users_email_nocase'"},
		{"backup " + root + "/backups/b.db", "SELECT 1"},
	}
	var processes []string
	for i, each := range commands {
		wait := startClients(t, p, h, fmt.Sprint("d", i), 2, 6)
		processes = append(processes, recorder.run(root+"/data", strings.Fields(each.command)...))
		wait()
	}
	p.Stop(t)
	x := newRecording(recorder, root, start)
	checkHistory := x.expectHistory(h, "data/users.db")
	check := func(directory string, at int) error {
		if err := checkHistory(directory, at); err != nil {
			return err
		}
		for i, each := range commands {
			if x.answers[processes[i]] > at {
				continue
			}
			if n, err := ask(directory+"/data/users.db", each.done); err != nil || n != "1" {
				return errors.Join(err, fmt.Errorf("what %s has done is gone", each.command))
			}
		}
		return x.expectBackup(h, directory, processes[len(processes)-1], at)
	}
	x.cutPower(check)
	x.expectFound("a backup that is not flushed", check, isFlush(root+"/backups/b.db.*.partial"))
	x.expectFound("a backup whose name is not flushed", check, isFlush(root+"/backups"))
	x.expectFound("a directory for backups whose name is not flushed", check, isFlush(root))
}

// expectBackup returns an error if a backup is not complete, or is not there although it was said to be.
func (x *recording) expectBackup(h *history, directory, process string, at int) error {
	path := directory + "/backups/b.db"
	if _, err := os.Stat(path); err != nil {
		if at >= x.answers[process] {
			return fmt.Errorf("the backup is gone: %w", err)
		}
		return nil
	}
	return reopen(path, func(found users) error {
		return knowledge{h, x.answers, x.began[process], at}.check(found)
	})
}

func TestAPowerCutDuringARestoreLeavesTheOldOrTheNewDatabase(t *testing.T) {
	for name, test := range map[string]struct {
		gone    bool
		options string
	}{
		"beside the -wal file of a killed service": {},
		"beside one without a database":            {gone: true},
		"on a file system without hard links":      {options: "-e inject=linkat:error=EPERM"},
	} {
		t.Run(name, func(t *testing.T) {
			recorder, root, h := newRecorder(t, test.options), t.TempDir(), newHistory()
			p := program.Serve(t, "DATA_DIR="+root)
			startClients(t, p, h, "new", 2, 5)()
			backup, after := program.BackUp(t, root), byEmail(p.List(t))
			startClients(t, p, h, "old", 2, 5)()
			before := byEmail(p.List(t))
			p.Kill(t)
			if test.gone {
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
				return fmt.Errorf("after the cut there are %.300s", fmt.Sprint(found))
			}
			kept, _ := filepath.Glob(directory + "/users.db.replaced-*Z")
			if len(before) == 0 {
				return nil // there was none
			} else if len(kept) != 1 {
				return fmt.Errorf("the old database is kept as %q", kept)
			}
			return reopen(kept[0], func(found users) error {
				if !maps.Equal(found, before) {
					return fmt.Errorf("as the old database, there is kept %.300s", fmt.Sprint(found))
				}
				return nil
			})
		})
	}
}
