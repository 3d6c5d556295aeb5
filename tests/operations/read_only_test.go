package operations

import (
	"os"
	"path/filepath"
	"testing"

	"users-api/tests/program"
)

const nobody = 65534 // the uid of the user nobody, who owns nothing

// killed returns a directory with a database and the -wal that a kill has left.
func killed(t *testing.T) string {
	t.Helper()
	directory, err := os.MkdirTemp("", "users-api")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	p := program.Serve(t, "DATA_DIR="+directory)
	p.Create(t, "Ada", "ada@example.org")
	p.Kill(t)
	if _, err := os.Stat(p.DatabasePath() + "-wal"); err != nil {
		t.Fatal(err)
	}
	return directory
}

// own makes the user nobody the owner of a directory and of everything in it, with these modes.
func own(t *testing.T, directory string, directoryMode, fileMode os.FileMode) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(directory, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(files, directory) {
		mode := fileMode
		if path == directory {
			mode = directoryMode
		}
		if err := os.Chown(path, nobody, nobody); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
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
			p := program.Serve(t, "DATA_DIR="+directory)
			p.Stop(t)
		}
		mounted := t.TempDir()
		program.Mount(t, "--bind", directory, mounted)
		program.Mount(t, "-o", "remount,ro,bind", mounted)
		program.ExpectRefusal(t, program.Launch(t, program.Path(), "DATA_DIR="+mounted), mounted, "read-only")
	}
}
