package backups

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"users-api/tests/program"
)

func TestARestoreIsRefusedWhileAnyProcessHasTheDatabaseOpen(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Backups)
	source := program.Serve(t)
	source.Create(t, "New", "new@example.org")
	backup := program.BackUp(t, source.DataDir)
	p := program.Serve(t)
	expectRefused := func(pid int) {
		t.Helper()
		before := program.NamesIn(t, p.DataDir)
		program.RunCommand(t, p.DataDir, nil, "restore", backup).ExpectMistake(t,
			fmt.Sprintf("the process %d has the database", pid), p.DataDir, "open: stop the service")
		program.ExpectNames(t, p.DataDir, before...)
	}
	expectRefused(p.PID()) // without a request so far
	p.Create(t, "Old", "old@example.org")
	p.Signal(syscall.SIGSTOP)
	expectRefused(p.PID())
	p.Kill(t) // then it has nothing open
	other := program.OpenOther(t, p.DatabasePath())
	other.Ask("SELECT count(*) FROM users")
	expectRefused(os.Getpid())
}

func TestARestoreIsServedAndKeepsTheOldDatabase(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Backups)
	source := program.Serve(t)
	source.Create(t, "New", "new@example.org")
	backup := program.BackUp(t, source.DataDir)
	for name, argument := range map[string]string{"a file": backup, "the standard input": "-"} {
		t.Run(name, func(t *testing.T) {
			p := program.Serve(t)
			p.Create(t, "Old", "old@example.org")
			p.Kill(t)
			stdin, err := os.Open(backup)
			program.Must(t, err)
			defer stdin.Close() //nolint:errcheck // it was only read
			restored := program.RunCommand(t, p.DataDir, stdin, "restore", argument)
			match := program.Done.FindStringSubmatch(restored.Stderr)
			if restored.Code != 0 || match == nil || match[2] != "1 user" {
				t.Fatalf("it ended with %d and %q", restored.Code, restored.Stderr)
			}
			program.Serve(t, "DATA_DIR="+p.DataDir).ExpectUsers(t, "New")
			kept, _ := program.ServeCopy(t, match[5])
			kept.ExpectUsers(t, "Old")
		})
	}
}

func TestABackupWithoutAColumnIsRestoredAndTheStartSaysWhatToDo(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Backups)
	old := program.Serve(t)
	old.Create(t, "Ada", "ada@example.org")
	settings := []string{"DATA_DIR=" + t.TempDir(), "USER_FIELDS=room"}
	program.RunWith(t, settings, nil, "restore", program.BackUp(t, old.DataDir)).MustSucceed(t)
	program.ExpectRefusal(t, program.Launch(t, program.Path(), settings...),
		"the table users has no column room: run `users-api add-field room`")
}

func TestACandidateThatCannotBeServedIsRefusedAndNothingIsChanged(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Backups)
	p := program.Serve(t)
	p.Create(t, "Old", "old@example.org")
	p.Kill(t) // the user is in the -wal file
	const table = "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT UNIQUE, created_at)"
	whole := databaseOf(t, table, `INSERT INTO users (name, email)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000) SELECT 'n', i FROM n`)
	half := len(whole) / 2
	// quick_check counts what an index has, and does not see that it is of other users.
	const exchanged = "name IN ('sqlite_autoindex_users_1', 'sqlite_autoindex_other_1')"
	brokenIndex := databaseOf(t, table, "INSERT INTO users (name, email) VALUES ('n', 'a')",
		"CREATE TABLE other (email UNIQUE)", "INSERT INTO other VALUES ('b')",
		"PRAGMA writable_schema = ON", "UPDATE sqlite_schema SET rootpage = (SELECT sum(rootpage) FROM sqlite_schema WHERE "+
			exchanged+") - rootpage WHERE "+exchanged)
	before := contentOf(t, p.DataDir)
	for name, candidate := range map[string]struct{ text, says string }{
		"empty": {"", "it is empty"}, "no database": {"hello", "it is not an SQLite database"},
		"no users":       {databaseOf(t, "CREATE TABLE people (id)"), "nothing was changed: it has no table users"},
		"the first half": {whole[:half], "damaged"}, "all but the last page": {whole[:len(whole)-4096], "damaged"},
		"a page of zeros":    {whole[:half] + strings.Repeat("\x00", 4096) + whole[half+4096:], "integrity_check says: "},
		"an index of others": {brokenIndex, "integrity_check says: row 1 missing from index"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "candidate.db")
			program.WriteFile(t, path, candidate.text)
			program.RunCommand(t, p.DataDir, nil, "restore", path).ExpectFailure(t, "restoring "+path+" to "+p.DatabasePath(), path, "nothing was changed", candidate.says)
			streamed := program.RunCommand(t, p.DataDir, strings.NewReader(candidate.text), "restore", "-")
			streamed.ExpectFailure(t, "restoring the standard input to "+p.DatabasePath(), "nothing was changed", candidate.says)
			if after := contentOf(t, p.DataDir); !maps.Equal(after, before) {
				t.Errorf("something was changed: there are now %d files", len(after))
			}
		})
	}
	killed, err := os.Open(p.DatabasePath()) // the files beside it are looked at although it is the standard input
	program.Must(t, err)
	defer killed.Close() //nolint:errcheck // it was only read
	program.RunCommand(t, t.TempDir(), killed, "restore", "-").ExpectMistake(t, p.DatabasePath()+"-wal", "incomplete", "VACUUM INTO")
	program.RunCommand(t, p.DataDir, nil, "restore", "/nowhere/backup.db").ExpectMistake(t, "/nowhere/backup.db", "no such file")
}

// databaseOf returns the database that statements make.
func databaseOf(t *testing.T, statements ...string) string {
	t.Helper()
	directory := t.TempDir()
	other := program.OpenOther(t, filepath.Join(directory, "made.db"))
	other.Do(statements...)
	other.Close()
	return contentOf(t, directory)["made.db"]
}

// contentOf returns the files of a directory by their names.
func contentOf(t *testing.T, directory string) map[string]string {
	t.Helper()
	content := map[string]string{}
	for _, name := range program.NamesIn(t, directory) {
		content[name] = program.ReadFile(t, filepath.Join(directory, name))
	}
	return content
}
