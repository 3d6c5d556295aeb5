package dbfile

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockHolder returns "a process" if one has locked one of the bytes of a database file that SQLite locks, or "". It
// takes the locks until the file is closed: Windows has no way to ask.
func lockHolder(file *os.File) (string, error) {
	const now = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(file.Fd()), now, 0, 512, 0, &windows.Overlapped{Offset: 0x40000000})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return "a process", nil
	}
	return "", err
}

func lock(*os.File) error { return nil } // here, two processes that start at once are on their own

// GiveTo does nothing: a new file belongs to the user that the directory says.
func GiveTo(string, os.FileInfo) error { return nil }

// SyncName does nothing: the file system keeps a journal of names, and has no way to flush it.
func SyncName(string) error { return nil }
