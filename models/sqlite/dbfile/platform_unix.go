//go:build !windows

package dbfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// sqliteLocks are the bytes of a database file that SQLite locks.
var sqliteLocks = syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart, Start: 0x40000000, Len: 512}

// lockHolder reports whether a process has locked a database file, and which.
func lockHolder(file *os.File) (pid int32, held bool, err error) {
	lock := sqliteLocks
	err = syscall.FcntlFlock(file.Fd(), syscall.F_GETLK, &lock)
	return lock.Pid, lock.Type != syscall.F_UNLCK, err
}

// lock takes SQLite's locks on a database file until the file is closed. It does not wait for them.
func lock(file *os.File) error {
	wanted := sqliteLocks
	return syscall.FcntlFlock(file.Fd(), syscall.F_SETLK, &wanted)
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
