package faults

import (
	"os"
	"path/filepath"
	"testing"

	"users-api/tests/program"
)

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
