package program

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// SmallDisk mounts a disk of a size such as "1m", and returns its directory.
func SmallDisk(t *testing.T, size string) string {
	t.Helper()
	NeedsRoot(t)
	directory := t.TempDir()
	Mount(t, "-t", "tmpfs", "-o", "size="+size, "tmpfs", directory)
	return directory
}

// Mount runs mount, and unmounts its last argument at the end of the test.
func Mount(t *testing.T, arguments ...string) {
	t.Helper()
	if output, err := exec.Command("mount", arguments...).CombinedOutput(); err != nil {
		t.Skipf("nothing can be mounted here: %v %s", err, output)
	}
	t.Cleanup(func() { _ = syscall.Unmount(arguments[len(arguments)-1], syscall.MNT_DETACH) })
}

// FillDisk writes a file until the disk is full.
func FillDisk(t *testing.T, path string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // it could not be written anyway
	for err == nil {
		_, err = file.Write(make([]byte, 4096))
	}
}

// NamesIn returns what is in a directory.
func NamesIn(t testing.TB, directory string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// ExpectNoDirectory fails the test when something was made at a path.
func ExpectNoDirectory(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("%s was made: %v", path, err)
	}
}

// WriteFile writes a file that other users may read.
func WriteFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
