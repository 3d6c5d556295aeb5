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
	program.Must(t, err)
	if info.Mode().Perm() != want {
		t.Errorf("the mode of %s is %o, want %o", filepath.Base(path), info.Mode().Perm(), want)
	}
}

func TestOtherUsersCannotReadWhatTheProgramMakesAndWhatExistsKeepsItsMode(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	for name, test := range map[string]struct {
		make                func(t *testing.T, directory string)
		directory, database os.FileMode
	}{
		"nothing exists": {func(*testing.T, string) {}, 0o700, 0o600},
		"the directory exists": {func(t *testing.T, directory string) {
			program.Must(t, os.Mkdir(directory, 0o755))
		}, 0o755, 0o600},
		"an empty file, which is an empty database, exists": {func(t *testing.T, directory string) {
			program.Must(t, os.Mkdir(directory, 0o755))
			program.WriteFile(t, filepath.Join(directory, "users.db"), "")
		}, 0o755, 0o644},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := filepath.Join(t.TempDir(), "data")
			test.make(t, directory)
			p := program.Serve(t, "DATA_DIR="+directory)
			p.Create(t, "Ada", "ada@example.org")
			p.List(t)
			expectMode(t, directory, test.directory)
			for _, ending := range []string{"", "-wal", "-shm"} {
				expectMode(t, p.DatabasePath()+ending, test.database)
			}
		})
	}
}
