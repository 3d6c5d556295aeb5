//go:build !windows

package dbfile

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

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

// FreeBytes returns how much may still be written to the disk of a directory.
func FreeBytes(directory string) (int64, error) {
	var disk syscall.Statfs_t
	err := syscall.Statfs(directory, &disk)
	return int64(disk.Bavail) * int64(disk.Bsize), err //nolint:unconvert // the types differ between systems
}
