//go:build strace

package strace

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"users-api/tests/program"
)

func TestAPowerCutLosesNothingThatACommandHasDone(t *testing.T) {
	recorder, root, h := newRecorder(t), t.TempDir(), newHistory()
	program.Must(t, os.Mkdir(root+"/backups", 0o700))
	start := copyOf(t, root)
	p := program.Start(t, recorder.script, "DATA_DIR="+root+"/data", "BACKUP_EVERY=1h", "BACKUP_DIR="+root+"/backups")
	p.WaitForLog(t, "backup made")
	processes := map[string]string{}
	commands := []string{"changes on", "add-field nickname", "ignore-email-case", "backup " + root + "/backups/b.db"}
	for i, command := range commands {
		wait := startClients(t, p, h, fmt.Sprint("d", i), 2, 6, "")
		name, _, _ := strings.Cut(command, " ")
		processes[name] = recorder.run(root+"/data", strings.Fields(command)...)
		wait()
	}
	p.Stop(t)
	x := newRecording(recorder, root, start)
	checkHistory := x.expectHistory(h, "data/users.db")
	check := func(directory string, at int) error {
		if err := checkHistory(directory, at); err != nil {
			return err
		}
		for name, process := range processes {
			if err := x.expectDone(directory, name, x.answers[process] <= at); err != nil {
				return err
			}
		}
		return x.expectBackup(h, directory, processes["backup"], at)
	}
	x.cutPower(check)
	x.expectFound("a backup that is not flushed", check, isFlush(root+"/backups/b.db.*.partial"))
	x.expectFound("a backup whose name is not flushed", check, isFlush(root+"/backups"))
}

// doneBy are queries that return a row once a command is done.
var doneBy = map[string]string{
	"changes":           "SELECT count(*) FROM sqlite_schema WHERE name = 'users_changes'",
	"add-field":         "SELECT count(*) FROM pragma_table_info('users') WHERE name = 'nickname'",
	"ignore-email-case": "SELECT count(*) FROM sqlite_schema WHERE name = 'users_email_nocase'",
}

// expectDone returns an error if what a command was to do is not there.
func (x *recording) expectDone(directory, name string, answered bool) error {
	if doneBy[name] == "" || !answered {
		return nil
	}
	n, err := ask(directory+"/data/users.db", doneBy[name])
	if err == nil && n != "1" {
		err = fmt.Errorf("what %s has done is gone", name)
	}
	return err
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
