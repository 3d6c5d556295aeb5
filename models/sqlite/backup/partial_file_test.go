package backup

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"users-api/models/sqlite/sqlitetest"
)

// The name may be taken while the copy is made.
func TestAFileIsNeverReplacedByABackup(t *testing.T) {
	directory := t.TempDir()
	partial, target := filepath.Join(directory, "partial"), filepath.Join(directory, "target")
	err := errors.Join(os.WriteFile(partial, []byte("new"), 0o600), os.WriteFile(target, []byte("old"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if err := place(partial, target); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("the error is %v", err)
	}
	if text, err := os.ReadFile(target); string(text) != "old" {
		t.Errorf("it is %q, %v", text, err)
	}
}

func TestAStreamedBackupIsTheSameAndLeavesNothingBesideTheDatabase(t *testing.T) {
	path := sqlitetest.Closed(t, "ada@example.org")
	before := names(t, filepath.Dir(path))
	var stream bytes.Buffer
	made, err := Write(ctx, path, &stream, nil)
	if err != nil || made != (Copy{1, int64(stream.Len())}) {
		t.Fatalf("%+v of %d bytes, %v", made, stream.Len(), err)
	}
	target := filepath.Join(t.TempDir(), "b.db")
	if err := os.WriteFile(target, stream.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	expectUsers(t, target, "ada@example.org")
	broken, closed, err := os.Pipe()
	if err := errors.Join(err, broken.Close(), closed.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(ctx, path, closed, nil); err == nil {
		t.Error("a stream that no program reads is no error")
	}
	if after := names(t, filepath.Dir(path)); !slices.Equal(before, after) {
		t.Errorf("beside the database are %v", after)
	}
}

// What a killed process left is removed a day later, and what looks like it is not.
func TestPartialFilesOfKilledProcessesAreRemovedWhenNoProgramWritesThemAnyMore(t *testing.T) {
	directory := t.TempDir()
	target := filepath.Join(directory, "b.db")
	yesterday := time.Now().Add(-abandoned - time.Minute)
	for name, old := range map[string]bool{
		"b.db.123.partial": true, "b.db.4.partial": false, "b.db.x.partial": true, "other.123.partial": true,
		"b.db.123.partial.mine": true,
	} {
		path := filepath.Join(directory, name)
		written := time.Now()
		if old {
			written = yesterday
		}
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, written, written)); err != nil {
			t.Fatal(err)
		}
	}
	made, err := newPartial(target)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.Base(made), "b.db.123.partial.mine", "b.db.4.partial", "b.db.x.partial", "other.123.partial"}
	slices.Sort(want)
	if all := names(t, directory); !slices.Equal(all, want) {
		t.Errorf("there are %v, and not %v", all, want)
	}
}

func TestABackupThatFindsItsNameTakenSaysSoBeforeItIsMade(t *testing.T) {
	target := filepath.Join(t.TempDir(), "b.db")
	if err := os.Symlink("nowhere", target); err != nil {
		t.Fatal(err)
	}
	_, err := Make(ctx, "no database", target, nil)
	if err == nil || !strings.Contains(err.Error(), target+" exists already, and is left as it is: choose another name") {
		t.Errorf("the error is %v", err)
	}
}
