//go:build !windows

package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// writable returns nil if this process may write to path. Otherwise the error says who may, and which command helps.
func writable(path string) error {
	const write = 2 // W_OK of access(2)
	err := syscall.Access(path, write)
	if err == nil {
		return nil
	}
	if errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("%s cannot be written (%w): mount it writable, or set DATA_DIR to another directory", path, err)
	}
	info, statErr := os.Stat(path)
	if statErr != nil {
		return fmt.Errorf("cannot look at the database: %w", statErr)
	}
	owner := info.Sys().(*syscall.Stat_t).Uid
	return fmt.Errorf("%s cannot be written (%w): it belongs to uid %d with mode %s and this process is uid %d; `chown -R %d %s` helps",
		path, err, owner, info.Mode(), os.Geteuid(), os.Geteuid(), path)
}

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

// sameOpenFile reports whether a name still leads to the open file.
func sameOpenFile(before, now os.FileInfo) bool { return os.SameFile(before, now) }

// giveTo gives a file the owner and the group of another file, or the owner of a directory.
func giveTo(path string, owner os.FileInfo) error {
	made, err := os.Stat(path)
	if err != nil {
		return err
	}
	is, want := made.Sys().(*syscall.Stat_t), owner.Sys().(*syscall.Stat_t)
	if is.Uid == want.Uid && (owner.IsDir() || is.Gid == want.Gid) {
		return nil
	}
	return os.Chown(path, int(want.Uid), int(want.Gid))
}

// syncDirectory returns once the name of a file is on disk. Network file systems refuse to sync, and do not need it.
func syncDirectory(path string) error {
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
