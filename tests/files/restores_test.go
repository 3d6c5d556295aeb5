//go:build !postgres

package files

import (
	"cmp"
	"errors"
	"fmt"
	"io"
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
	backup := newBackup(t)
	p := program.Serve(t)
	expectRefused := func() {
		t.Helper()
		before := program.NamesIn(t, p.DataDir)
		program.RunCommand(t, p.DataDir, nil, "restore", backup).ExpectFailure(t,
			"restoring …", "a process has the database", p.DataDir, "open: stop the service")
		program.ExpectNames(t, p.DataDir, before...)
	}
	expectRefused() // without a request so far
	p.Create(t, "Old", "old@example.org")
	p.Signal(syscall.SIGSTOP)
	expectRefused()
	p.Kill(t) // then it has nothing open
	other := program.OpenOther(t, p.DatabasePath())
	other.Ask("SELECT count(*) FROM users")
	expectRefused()
}

func TestARestoreIsServedAndKeepsTheOldDatabase(t *testing.T) {
	t.Parallel()
	for _, from := range []string{"", "-"} {
		p := program.Serve(t)
		p.Create(t, "Old", "old@example.org")
		p.Kill(t)
		kept, _ := program.ServeCopy(t, mustRestore(t, p.DataDir, from))
		kept.ExpectUsers(t, "Old")
		program.Serve(t, "DATA_DIR="+p.DataDir).ExpectUsers(t, "New")
	}
}

func TestABackupWithoutAColumnIsRestoredAndTheStartSaysWhatToDo(t *testing.T) {
	t.Parallel()
	old := program.Serve(t)
	old.Create(t, "Ada", "ada@example.org")
	settings := []string{"DATA_DIR=" + t.TempDir(), "USER_FIELDS=room"}
	program.RunWith(t, settings, nil, "restore", program.BackUp(t, old.DataDir)).MustSucceed(t)
	program.ExpectRefusal(t, program.Launch(t, program.Path(), settings...),
		"the table users has no column room: run `users-api add-field room`")
}

func TestACandidateThatCannotBeServedIsRefusedAndNothingIsChanged(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Old", "old@example.org")
	p.Kill(t) // the user is in the -wal file
	whole := databaseOf(t, table, many)
	half := len(whole) / 2
	// quick_check counts what an index has, and does not see that it is of other users.
	const exchanged = "name IN ('sqlite_autoindex_users_1', 'sqlite_autoindex_other_1')"
	brokenIndex := databaseOf(t, table, "INSERT INTO users (name, email) VALUES ('n', 'a')",
		"CREATE TABLE other (email UNIQUE)", "INSERT INTO other VALUES ('b')",
		"PRAGMA writable_schema = ON", "UPDATE sqlite_schema SET rootpage = (SELECT sum(rootpage) FROM sqlite_schema WHERE "+
			exchanged+") - rootpage WHERE "+exchanged)
	before := contentOf(t, p.DataDir)
	for text, says := range map[string]string{
		"": "it is empty", "hello": "it is not an SQLite database", whole[:half]: "damaged", whole[:len(whole)-4096]: "damaged",
		databaseOf(t, "CREATE TABLE people (id)"):                       "nothing was changed: it has no table users",
		whole[:half] + strings.Repeat("\x00", 4096) + whole[half+4096:]: "integrity_check says: ",
		brokenIndex: "integrity_check says: row 1 missing from index",
	} {
		path := filepath.Join(t.TempDir(), "candidate.db")
		program.WriteFile(t, path, text)
		restored := program.RunCommand(t, p.DataDir, nil, "restore", path)
		restored.ExpectFailure(t, "restoring "+path+" to "+p.DatabasePath(), path, "nothing was changed", says)
		streamed := program.RunCommand(t, p.DataDir, strings.NewReader(text), "restore", "-")
		streamed.ExpectFailure(t, "restoring the standard input to "+p.DatabasePath(), "nothing was changed", says)
		program.Expect(t, "whether nothing was changed", maps.Equal(contentOf(t, p.DataDir), before), true)
		if strings.Contains(says, "no table") || says == "integrity_check says: " { // what cannot be restored is no backup, either
			source, target := t.TempDir(), t.TempDir()
			program.WriteFile(t, filepath.Join(source, "users.db"), text)
			program.RunCommand(t, source, nil, "backup", target+"/backup.db").ExpectFailure(t, "backing up …", source)
			program.ExpectNames(t, target)
		}
	}
	killed, err := os.Open(p.DatabasePath()) // the files beside it are looked at although it is the standard input
	program.Must(t, err)
	defer killed.Close() //nolint:errcheck // it was only read
	program.RunCommand(t, t.TempDir(), killed, "restore", "-").ExpectFailure(t, "restoring …", p.DatabasePath()+"-wal", "incomplete", "VACUUM INTO")
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

const (
	table = "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT UNIQUE, created_at DATETIME)"
	many  = `INSERT INTO users (name, email)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000) SELECT 'n', i FROM n`
)

// newBackup returns the path of a backup that has the user New alone.
func newBackup(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "backup.db")
	program.WriteFile(t, path, databaseOf(t, table, "INSERT INTO users (name, email) VALUES ('New', 'new')"))
	return path
}

// mustRestore restores the user New from a file, or from the standard input if that is "-", and returns where the old database is kept.
func mustRestore(t *testing.T, dataDir, from string) (kept string) {
	t.Helper()
	backup := newBackup(t)
	done := program.RunCommand(t, dataDir, strings.NewReader(program.ReadFile(t, backup)), "restore", cmp.Or(from, backup))
	match := program.Done.FindStringSubmatch(done.Stderr)
	if done.Code != 0 || match == nil || match[2] != "1 user" {
		t.Fatalf("the restore ended with %d and %q", done.Code, done.Stderr)
	}
	restored, _ := program.ServeCopy(t, filepath.Join(dataDir, "users.db"))
	restored.ExpectUsers(t, "New")
	return match[5]
}

// stopped returns a program that has stopped, with the user Old.
func stopped(t *testing.T) *program.Program {
	t.Helper()
	p := program.Serve(t)
	p.Create(t, "Old", "old@example.org")
	p.Stop(t)
	return p
}

// SQLite would apply a -wal file or a journal that is left behind to any database that takes the name.
func TestFilesOfADatabaseThatIsGoneAreNotMixedIntoTheRestoredOne(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Old", "old@example.org")
	p.Kill(t)
	program.WriteFile(t, p.DatabasePath()+"-journal", "old")
	program.Must(t, os.Remove(p.DatabasePath()))
	mustRestore(t, p.DataDir, "")
	program.Expect(t, "what is there", strings.Join(program.NamesIn(t, p.DataDir), " "),
		"users.db …users.db.replaced-…Z-journal users.db.replaced-…Z-wal")
}

// The lock is taken when all is ready.
func TestADatabaseThatAProcessOpensDuringARestoreIsNotReplaced(t *testing.T) {
	t.Parallel()
	p, backup := stopped(t), program.ReadFile(t, newBackup(t))
	stdin, sent := io.Pipe()
	ended := beside(t, p.DataDir, stdin, "restore", "-")
	_, err := io.WriteString(sent, backup[:4096])
	program.Must(t, err)
	program.WaitFor(t, "a part of it has arrived", func() bool {
		partial, _ := filepath.Glob(p.DatabasePath() + ".*.partial")
		return len(partial) == 1 && len(program.ReadFile(t, partial[0])) == 4096
	})
	program.OpenOther(t, p.DatabasePath()).Do("PRAGMA journal_mode = WAL", "UPDATE users SET name = 'Held'")
	_, err = io.WriteString(sent, backup[4096:])
	program.Must(t, errors.Join(err, sent.Close()))
	outcome := <-ended
	outcome.ExpectFailure(t, "restoring the standard input …", p.DatabasePath(), "open: stop the service")
	program.ExpectNames(t, p.DataDir, "users.db", "users.db-shm", "users.db-wal")
	program.Serve(t, "DATA_DIR="+p.DataDir).ExpectUsers(t, "Held")
}

func TestADatabaseThatSQLiteCannotOpenIsLeftAndTheErrorSaysWhatToDo(t *testing.T) {
	t.Parallel()
	p, garbage := stopped(t), strings.Repeat("garbage", 9999)
	program.WriteFile(t, p.DatabasePath(), garbage)
	program.RunCommand(t, p.DataDir, nil, "restore", newBackup(t)).ExpectFailure(t, "restoring …",
		"file is not a database (26); if it is damaged, move it away by hand")
	backup := filepath.Join(t.TempDir(), "backup.db")
	program.RunCommand(t, p.DataDir, nil, "backup", backup).ExpectFailure(t, "backing up …", "file is not a database (26)")
	program.ExpectNames(t, filepath.Dir(backup))
	program.ExpectNames(t, p.DataDir, "users.db")
	program.Expect(t, "whether it is as it was", program.ReadFile(t, p.DatabasePath()) == garbage, true)
}

func TestASymbolicLinkToTheDatabaseStaysOne(t *testing.T) {
	t.Parallel()
	p, directory := stopped(t), t.TempDir()
	program.Must(t, os.Symlink(p.DatabasePath(), filepath.Join(directory, "users.db")))
	kept := mustRestore(t, directory, "")
	program.ExpectNames(t, p.DataDir, "users.db", filepath.Base(kept))
}

// root may restore what another user serves.
func TestARestoredDatabaseHasTheOwnerAndTheRightsOfTheOldOneOrTheOwnerOfTheDirectory(t *testing.T) {
	t.Parallel()
	program.NeedsRoot(t)
	const uid, gid = 65534, 65533
	old, group, directory := stopped(t), stopped(t), t.TempDir()
	program.Must(t, errors.Join(os.Chown(old.DatabasePath(), uid, gid), os.Chown(group.DatabasePath(), 0, gid),
		os.Chmod(group.DatabasePath(), 0o640), os.Chown(directory, uid, gid)))
	for dataDir, want := range map[string]string{old.DataDir: "65534 65533 600", group.DataDir: "0 65533 640", directory: "65534 65533 600"} {
		mustRestore(t, dataDir, "")
		info, err := os.Stat(filepath.Join(dataDir, "users.db"))
		program.Must(t, err)
		owner := info.Sys().(*syscall.Stat_t)
		program.Expect(t, "the owner and the rights", fmt.Sprintf("%d %d %o", owner.Uid, owner.Gid, info.Mode().Perm()), want)
	}
}

// A client that follows the feed has seen users whom the restored database does not have, and would keep them: whichever
// cursor it has, it must begin again.
func TestNoCursorOfBeforeARestoreIsGoneOnFrom(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	var cursors []string
	backup := ""
	for _, email := range []string{"before", "last of the backup", "gone", "also gone"} {
		p.Create(t, "Ada", email)
		cursors = append(cursors, p.Do(t, "GET", "/api/users", "").Header.Get("Changes-Cursor"))
		if len(cursors) == 2 {
			backup = program.BackUp(t, p.DataDir)
		}
	}
	p.Stop(t)
	p.Run(t, "restore", backup).MustSucceed(t)
	p = program.Serve(t, "DATA_DIR="+p.DataDir)
	for range 2 {
		for _, cursor := range cursors {
			p.Do(t, "GET", "/api/changes?after="+cursor, "").Expect(t, 410, "…")
		}
		p.Delete(t, p.Create(t, "Ada", "new")) // nor have their entries one of these cursors
	}
}
