package operations

import (
	"os"
	"path/filepath"
	"testing"

	"users-api/tests/program"
)

// expectMode compares who may do what with a file or directory.
func expectMode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != want {
		t.Errorf("the mode of %s is %o, want %o", filepath.Base(path), info.Mode().Perm(), want)
	}
}

func TestOtherUsersCannotReadWhatTheProgramMakes(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	p := program.Serve(t)
	p.Create(t, "Ada", "ada@example.org")
	p.List(t)
	expectMode(t, p.DataDir, 0o700)
	for _, ending := range []string{"", "-wal", "-shm"} {
		expectMode(t, p.DatabasePath()+ending, 0o600)
	}
}

func TestWhatExistsKeepsItsMode(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	directory := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(directory, 0o755); err != nil {
		t.Fatal(err)
	}
	program.WriteFile(t, filepath.Join(directory, "users.db"), "") // an empty file is an empty database
	p := program.Serve(t, "DATA_DIR="+directory)
	p.Create(t, "Ada", "ada@example.org")
	expectMode(t, directory, 0o755)
	expectMode(t, p.DatabasePath(), 0o644)
	expectMode(t, p.DatabasePath()+"-wal", 0o644)
}

func TestANewDatabaseInAnExistingDirectoryIsPrivateToo(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	directory := t.TempDir()
	if err := os.Chmod(directory, 0o755); err != nil {
		t.Fatal(err)
	}
	p := program.Serve(t, "DATA_DIR="+directory)
	expectMode(t, directory, 0o755)
	expectMode(t, p.DatabasePath(), 0o600)
}
