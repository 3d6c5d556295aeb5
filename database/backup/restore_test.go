package backup_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"users-api/database/backup"
)

// restore restores a file.
func restore(t testing.TB, path, from string) (backup.Copy, error) {
	t.Helper()
	file, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	return backup.Restore(t.Context(), path, file, func() {})
}

// mustRestore restores a file that has only the user new, and expects that all is well.
func mustRestore(t testing.TB, path, from string) backup.Copy {
	t.Helper()
	restored, err := restore(t, path, from)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != restored.Bytes || restored.Users != 1 {
		t.Errorf("the restored database is %v, %v, and is said to be %+v", info, err, restored)
	}
	if got := emails(t, path); got != "new" {
		t.Errorf("the restored database has %s", got)
	}
	return restored
}

func TestARestoreNeedsNoDatabaseToReplace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "not", "there", "users.db")
	restored := mustRestore(t, path, closed(t, "new"))
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 || restored.Kept != "" {
		t.Errorf("it is %v, %v; %+v", info, err, restored)
	}
}

// SQLite would apply a -wal file or a journal that is left behind to any database that takes the name.
func TestFilesOfADatabaseThatIsGoneAreNotMixedIntoTheRestoredOne(t *testing.T) {
	t.Parallel()
	path := killed(t, wal+table, insert("old"))
	write(t, path+"-journal", []byte("old"))
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	mustRestore(t, path, closed(t, "new"))
	all := strings.Join(names(t, path), " ")
	if strings.Count(all, ".replaced-") != 2 || !strings.Contains(all, "Z-wal") || !strings.Contains(all, "Z-journal") {
		t.Errorf("beside it are %s", all)
	}
}

// The lock is looked at before the backup is read, and again when all is ready.
func TestADatabaseThatAProcessOpensDuringTheRestoreIsNotReplaced(t *testing.T) {
	t.Parallel()
	path, from := closed(t, "old"), closed(t, "new")
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := backup.Restore(t.Context(), path, out, func() {})
		ended <- err
	}()
	content := read(t, from)
	if _, err := in.Write(content[:4096]); err != nil {
		t.Fatal(err)
	}
	waitForPartial(t, path, 4096)
	hold(t, path, insert("held"))
	if _, err := in.Write(content[4096:]); errors.Join(err, in.Close()) != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "a process has the database "+path+" open: stop the service") {
		t.Errorf("the error is %v", err)
	}
	if all := names(t, path); len(all) != 3 || emails(t, path) != "old held" {
		t.Errorf("there are %v", all)
	}
}

func TestAnIncompleteBackupIsNotRestored(t *testing.T) {
	t.Parallel()
	path := closed(t, "old")
	for from, says := range map[string]string{
		killed(t, wal+table, insert("new")):                                  "-wal holds the last commits",
		killed(t, table+insert("new"), "PRAGMA cache_size = 5; BEGIN;"+many): "takes that transaction back",
	} {
		link := filepath.Join(t.TempDir(), "link.db")
		if err := os.Symlink(from, link); err != nil {
			t.Fatal(err)
		}
		if restored, err := restore(t, path, link); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %+v, %v", from, restored, err)
		}
	}
	if all := names(t, path); len(all) != 1 || emails(t, path) != "old" {
		t.Errorf("there are %v", all)
	}
	// With journal_mode PERSIST the -journal file stays after a commit, and its header is zeroed.
	from := closed(t, "new")
	write(t, from+"-journal", make([]byte, 512))
	write(t, from+"-wal", nil)
	mustRestore(t, path, from)
	mustRestore(t, filepath.Join(t.TempDir(), "not", "there", "users.db"), from)
}

func TestADatabaseThatSQLiteCannotOpenIsLeftAndTheErrorSaysWhatToDo(t *testing.T) {
	t.Parallel()
	path := closed(t, "old")
	garbage := bytes.Repeat([]byte("garbage"), 9999)
	write(t, path, garbage)
	if _, err := restore(t, path, closed(t, "new")); err == nil || !strings.Contains(err.Error(), "file is not a database (26); if it is damaged, move it away by hand") {
		t.Errorf("the error is %v", err)
	}
	if all := names(t, path); len(all) != 1 || !bytes.Equal(read(t, path), garbage) {
		t.Errorf("there are %v", all)
	}
}

// SQLite must not open one file under two names.
func TestASecondNameThatAKilledRestoreLeftIsRemoved(t *testing.T) {
	t.Parallel()
	path := closed(t, "old")
	older, link := path+".replaced-20230101T000000.000Z", filepath.Join(t.TempDir(), "users.db")
	write(t, older, read(t, path))
	if err := errors.Join(os.Link(path, path+".replaced-20240101T000000.000Z"), os.Symlink(path, link)); err != nil {
		t.Fatal(err)
	}
	restored := mustRestore(t, link, closed(t, "new")) // a symbolic link to the database stays one
	if all := names(t, path); !slices.Equal(all, []string{filepath.Base(path), filepath.Base(older), filepath.Base(restored.Kept)}) {
		t.Errorf("there are %v", all)
	}
}

// root may restore what another user serves.
func TestARestoredDatabaseHasTheOwnerAndTheRightsOfTheOldOneOrTheOwnerOfTheDirectory(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to give files away")
	}
	const uid, gid = 65534, 65533
	old, group, directory := closed(t, "old"), closed(t, "old"), t.TempDir()
	if err := errors.Join(os.Chmod(group, 0o640), os.Chown(old, uid, gid), os.Chown(group, 0, gid), os.Chown(directory, uid, gid)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{old: "65534 65533 600\n", group: "0 65533 640\n", filepath.Join(directory, "users.db"): "65534 65533 600\n"} {
		mustRestore(t, path, closed(t, "new"))
		is, err := exec.Command("stat", "-c", "%u %g %a", path).Output()
		if string(is) != want {
			t.Errorf("%s belongs to %s, %v", path, is, err)
		}
	}
}
