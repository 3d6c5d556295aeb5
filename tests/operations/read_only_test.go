package operations

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"users-api/tests/program"
)

const nobody = 65534 // the uid of the user nobody, who owns nothing

// killed returns a directory with a database and the -wal that a kill has left.
func killed(t *testing.T) string {
	t.Helper()
	directory := program.SharedDirectory(t, os.Geteuid())
	p := program.Serve(t, "DATA_DIR="+directory)
	p.Create(t, "Ada", "ada@example.org")
	p.Kill(t)
	_, err := os.Stat(p.DatabasePath() + "-wal")
	program.Must(t, err)
	return directory
}

// own makes the user nobody the owner of a directory and of everything in it, with these modes.
func own(t *testing.T, directory string, directoryMode, fileMode os.FileMode) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(directory, "*"))
	program.Must(t, err)
	for _, path := range append(files, directory) {
		program.Must(t, errors.Join(os.Chown(path, nobody, nobody), os.Chmod(path, fileMode)))
	}
	program.Must(t, os.Chmod(directory, directoryMode))
}

// With a -wal that a kill has left, SQLite opens what it cannot write and lists it. A program that serves then would
// refuse every write and look healthy.
func TestAStartThatCannotWriteEndsAlthoughItCouldRead(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	program.NeedsRoot(t)
	for _, c := range []struct {
		name            string
		directory, file os.FileMode
	}{
		{"a read-only file", 0o755, 0o444},
		{"a read-only file in a read-only directory", 0o555, 0o444},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			directory := killed(t)
			own(t, directory, c.directory, c.file)
			program.ExpectRefusal(t, program.LaunchAs(t, nobody, program.Path(), "DATA_DIR="+directory), directory, "writ")
		})
	}
}

func TestAStartOnAReadOnlyMountEnds(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	program.NeedsRoot(t)
	for _, wal := range []bool{true, false} {
		directory := killed(t)
		if !wal {
			program.Serve(t, "DATA_DIR="+directory).Stop(t)
		}
		mounted := t.TempDir()
		program.Mount(t, "--bind", directory, mounted)
		program.Mount(t, "-o", "remount,ro,bind", mounted)
		program.ExpectRefusal(t, program.Launch(t, program.Path(), "DATA_DIR="+mounted), mounted, "read-only")
	}
}
