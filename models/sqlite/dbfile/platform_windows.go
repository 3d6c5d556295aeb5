package dbfile

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockHolder reports whether a process has locked a database file. Windows does not tell which one.
func lockHolder(file *os.File) (pid int32, held bool, err error) {
	err = lock(file)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return 0, true, nil
	}
	return 0, false, err // the lock ends with the file
}

// lock takes SQLite's locks on a database file until the file is closed. It does not wait for them.
func lock(file *os.File) error {
	const now = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	return windows.LockFileEx(windows.Handle(file.Fd()), now, 0, 512, 0, &windows.Overlapped{Offset: 0x40000000})
}

// SyncName does nothing: the file system keeps a journal of names, and has no way to flush it.
func SyncName(string) error { return nil }
