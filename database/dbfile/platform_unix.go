//go:build !windows

package dbfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// lockHolder returns which process has locked one of the bytes of a database file that SQLite locks, or "".
func lockHolder(file *os.File) (string, error) {
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart, Start: 0x40000000, Len: 512}
	err := syscall.FcntlFlock(file.Fd(), syscall.F_GETLK, &lock)
	if err != nil || lock.Type == syscall.F_UNLCK {
		return "", err
	}
	if lock.Pid <= 0 { // on another machine, or in another container
		return "a process", nil
	}
	return fmt.Sprintf("the process %d", lock.Pid), nil
}

// lock takes a lock that is none of SQLite's, until the file is closed.
func lock(file *os.File) error { return syscall.Flock(int(file.Fd()), syscall.LOCK_EX) }

// GiveTo gives a file of this process the owner and the group of another file, or the owner of a directory.
func GiveTo(path string, owner os.FileInfo) error {
	want := owner.Sys().(*syscall.Stat_t)
	if owner.IsDir() && int(want.Uid) == os.Geteuid() {
		return nil // a file in a directory need not have its group
	}
	return os.Chown(path, int(want.Uid), int(want.Gid))
}

// SyncName returns once the name of a file is on disk. Network file systems refuse to sync, and do not need it.
func SyncName(path string) error {
	directory, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer directory.Close() //nolint:errcheck // nothing was written to it
	err = directory.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}
