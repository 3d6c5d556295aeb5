package program

import (
	"errors"
	"fmt"
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

// SharedDirectory makes a directory that other users may enter, which that of t.TempDir is not. It belongs to a user.
func SharedDirectory(t testing.TB, owner int) string {
	t.Helper()
	directory, err := os.MkdirTemp("", "users-api")
	Must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	Must(t, errors.Join(os.Chmod(directory, 0o755), os.Chown(directory, owner, owner)))
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
	_ = exec.Command("cp", "/dev/zero", path).Run() // it fails only then
}

func NamesIn(t testing.TB, directory string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(directory)
	Must(t, err)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// ExpectNames fails the test unless exactly this is in a directory, in the order of the alphabet.
func ExpectNames(t testing.TB, directory string, names ...string) {
	t.Helper()
	Expect(t, "what is in "+directory, fmt.Sprintf("%q", NamesIn(t, directory)), fmt.Sprintf("%q", names))
}

// ExpectNoDirectory fails the test when something was made at a path.
func ExpectNoDirectory(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("%s was made: %v", path, err)
	}
}

// WriteFile writes a file that other users may read.
func WriteFile(t testing.TB, path, text string) {
	t.Helper()
	Must(t, os.WriteFile(path, []byte(text), 0o644))
}

func ReadFile(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	Must(t, err)
	return string(text)
}
