package faults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"users-api/tests/program"
)

// What may happen to the files of a running program. After each of these, a restart opens another file.
var removals = map[string]func(p *program.Program) error{
	"the database file is removed": func(p *program.Program) error { return os.Remove(p.DatabasePath()) },
	"the -wal file is removed":     func(p *program.Program) error { return os.Remove(p.DatabasePath() + "-wal") },
	"the directory is removed":     func(p *program.Program) error { return os.RemoveAll(p.DataDir) },
	"the directory is moved":       func(p *program.Program) error { return os.Rename(p.DataDir, p.DataDir+"2") },
	"the database file is replaced": func(p *program.Program) error {
		text, err := os.ReadFile(p.DatabasePath())
		return errors.Join(err, os.WriteFile(p.DatabasePath()+".new", text, 0o600), os.Rename(p.DatabasePath()+".new", p.DatabasePath()))
	},
}

func TestAServiceWhoseFileWasTakenAwayEndsBeforeLong(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	for name, remove := range removals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := program.Serve(t)
			p.Create(t, "Ada", "ada@example.org")
			program.Must(t, remove(p))
			p.ExpectEnd(t, 1, "removed or replaced")
		})
	}
}

// The files are checked once a second, and a stop must not trust the last check. A new database that came together with
// its own -wal file has its last commits there; without one, that of the old database is set aside.
func TestADatabaseReplacedJustBeforeAStopIsNotMixedWithTheNewOne(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	for name, test := range map[string]struct{ hasWAL, stops bool }{
		"without a -wal file":               {false, true},
		"with a -wal file":                  {true, true},
		"with a -wal file, while it serves": {true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			next := program.Serve(t)
			next.Create(t, "New", "new@example.org")
			p := program.Serve(t)
			p.Create(t, "Old", "old@example.org")
			aside := 0
			if test.hasWAL {
				next.Kill(t)
				program.Must(t, os.Rename(next.DatabasePath()+"-wal", p.DatabasePath()+"-wal"))
			} else {
				next.Stop(t)
				program.OpenOther(t, p.DatabasePath()).Fill(300) // and keeps the old one open, with its -shm file
				aside = 1
			}
			program.Must(t, os.Rename(next.DatabasePath(), p.DatabasePath()))
			if test.stops {
				p.Signal(syscall.SIGTERM)
			}
			if code := p.Wait(t); code != 1 || strings.Count(p.Log(), "removed or replaced") != 1 {
				t.Errorf("the exit code is %d:\n%s", code, p.Log())
			}
			if found, err := filepath.Glob(p.DatabasePath() + "-wal.lost-*"); len(found) != aside || err != nil {
				t.Errorf("set aside are %v, %v", found, err)
			}
			program.Serve(t, "DATA_DIR="+p.DataDir).ExpectUsers(t, "New")
			program.ExpectIntact(t, p.DatabasePath())
		})
	}
}

// A backup is not in WAL mode, nor is what a service that has stopped leaves. SQLite would play the -wal file that a kill has
// left into it, and delete it beside an empty file. Whatever opens the database first sets it aside.
func TestADatabasePutInPlaceByHandIsNotMixedWithTheWALFileThatAKillHasLeft(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	copied := func(from, path string) error {
		return os.WriteFile(path, []byte(program.ReadFile(t, from)), 0o600) // as cp does, in place
	}
	stopped := func(_, path string) error { return copied(path+".of-before", path) }
	for name, test := range map[string]struct {
		put    func(backup, path string) error
		first  string // a command, before a start; BACKUP is the file
		starts int
		found  []string
	}{
		"a start after cp":           {copied, "", 1, []string{"Ada"}},
		"a start after mv":           {os.Rename, "", 1, []string{"Ada"}},
		"a copy of a stopped one":    {stopped, "", 1, []string{"Ada"}},
		"four starts at once":        {copied, "", 4, []string{"Ada"}},
		"four starts on no database": {func(_, path string) error { return os.Remove(path) }, "", 4, nil},
		"an empty file":              {func(_, path string) error { return os.Truncate(path, 0) }, "", 1, nil},
		"a restore":                  {copied, "restore BACKUP", 1, []string{"Ada"}},
		"a change of the schema":     {copied, "add-field room", 1, []string{"Ada"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := program.Serve(t)
			p.Create(t, "Ada", "ada@example.org")
			backup := program.BackUp(t, p.DataDir)
			p.Stop(t)
			program.Must(t, copied(p.DatabasePath(), p.DatabasePath()+".of-before"))
			p = program.Serve(t, "DATA_DIR="+p.DataDir)
			other := program.OpenOther(t, p.DatabasePath())
			other.Fill(500)
			other.Close()
			p.Kill(t)
			program.Must(t, test.put(backup, p.DatabasePath()))
			said := ""
			if test.first != "" {
				done := program.RunCommand(t, p.DataDir, nil, strings.Fields(strings.Replace(test.first, "BACKUP", backup, 1))...)
				done.MustSucceed(t)
				said = done.Stderr
			}
			var all []*program.Program
			for range test.starts {
				all = append(all, program.Launch(t, program.Path(), "DATA_DIR="+p.DataDir))
			}
			for _, again := range all {
				again.WaitForAddress(t)
				said += again.Log()
			}
			for _, again := range all {
				again.ExpectUsers(t, test.found...)
			}
			all[0].Create(t, "Alan", "alan@example.org")
			for _, again := range all {
				again.ExpectUsers(t, append(slices.Clone(test.found), "Alan")...)
				again.Stop(t)
			}
			program.ExpectIntact(t, p.DatabasePath())
			aside, err := filepath.Glob(p.DatabasePath() + "-wal.lost-*")
			if len(aside) != 1 || err != nil || strings.Count(said, "of another database") != 1 || !strings.Contains(said, aside[0]) {
				t.Errorf("set aside are %q, %v, and said is:\n%s", aside, err, said)
			}
		})
	}
}

func TestAStartInADirectoryItCannotWriteSaysWhatHelps(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	program.NeedsRoot(t)
	for name, prepare := range map[string]func(directory string) error{
		"a directory of another user": func(string) error { return nil },
		"a database file of another user": func(directory string) error { // an empty file is an empty database
			return errors.Join(os.Chmod(directory, 0o777), os.WriteFile(filepath.Join(directory, "users.db"), nil, 0o644))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := program.SharedDirectory(t, 0)
			program.Must(t, prepare(directory))
			p := program.LaunchAs(t, 65534, program.Path(), "DATA_DIR="+directory)
			program.ExpectRefusal(t, p, directory, "uid 65534", "chown -R 65534", "permission denied")
		})
	}
}

func TestTheDatabaseMayBeASymbolicLink(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	directory, target := t.TempDir(), filepath.Join(t.TempDir(), "real.db")
	users := filepath.Join(directory, "users.db")
	program.Must(t, os.Symlink(target, users)) // the target does not exist yet
	p := program.Serve(t, "DATA_DIR="+directory)
	p.Create(t, "Ada", "ada@example.org")
	p.Stop(t)
	again := program.Serve(t, "DATA_DIR="+directory)
	again.Create(t, "Alan", "alan@example.org")
	again.ExpectUsers(t, "Ada", "Alan")
	if info, err := os.Lstat(users); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("users.db is no longer a link: %v", err)
	}
	program.Must(t, os.Remove(target))
	again.ExpectEnd(t, 1, "removed or replaced") // as with a plain file
}

// What a backup, a log or a copy of before has of a user is not the program's to take back: docs/operating.md, "Erase somebody".
func TestWhatIsDeletedIsNotInTheFileOnceItsEntriesAreGone(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	p := program.Serve(t)
	p.Run(t, "index-search").MustSucceed(t)
	other := program.OpenOther(t, p.DatabasePath())
	other.Fill(1000)
	other.Close()
	long := strings.Repeat("erased ", 3000) // on pages of its own
	erased := []int64{p.Create(t, long, "erased-1@example.org"), p.Create(t, "Erased \u044a\u044b\u044c", "erased-2@example.org")}
	for _, id := range erased {
		p.Delete(t, id)
	}
	changed := p.Create(t, long, "erased-3@example.org")
	p.Change(t, changed, `{"name":"kept","email":"kept@example.org"}`)
	last := p.Create(t, "erased", "erased-4@example.org")
	p.Do(t, "POST", program.CSV+"?on_conflict=update&on_missing=delete&max_deletes=2000", "name,email\nkept,kept@example.org\n").
		Expect(t, 200, `{"created":0,"updated":0,"skipped":1,"deleted":1001,…`)
	for _, id := range append(erased, changed, last) {
		p.Do(t, "DELETE", fmt.Sprintf("/api/users/%d/changes", id), "").Expect(t, 204, "")
	}
	p.Run(t, "index-search").MustSucceed(t) // which has the parts of all texts since it was made
	p.Signal(syscall.SIGINT)                // a stop, as SIGTERM is
	p.ExpectEnd(t, 0)
	program.ExpectNames(t, p.DataDir, "users.db")
	expectErased(t, p.DatabasePath(), "erased", "Erased", "\u044a\u044b\u044c")
	if !strings.Contains(program.ReadFile(t, p.DatabasePath()), "User 1") {
		t.Error("the file does not have what the import has deleted, and nobody has erased")
	}

	p = program.Serve(t, "DATA_DIR="+p.DataDir, "CHANGES_KEEP=0")
	other = program.OpenOther(t, p.DatabasePath())
	program.WaitFor(t, "no entry is kept", func() bool { return other.Ask("SELECT count(*) || '' FROM users_changes") == "0" })
	other.Close()
	p.Stop(t)
	expectErased(t, p.DatabasePath(), "User 1")

	other = program.OpenOther(t, p.DatabasePath()) // and of an earlier version, which did not overwrite
	other.Do("PRAGMA secure_delete = OFF", "INSERT INTO users (name, email) VALUES ('n', 'left@example.org')",
		"DELETE FROM users WHERE name = 'n'")
	other.Close()
	expectErased(t, program.BackUp(t, p.DataDir), "left@")
}

func expectErased(t *testing.T, path string, erased ...string) {
	t.Helper()
	text := program.ReadFile(t, path)
	for _, each := range erased {
		program.Expect(t, "how often the file has "+each, strings.Count(text, each), 0)
	}
	program.Expect(t, "how often the file has what is kept", strings.Count(text, "kept@example.org"), 2) // and once in an index
}
