package sqlite

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// writable returns nil if this process may write to path. For a directory, Windows tells only when something is
// written.
func writable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("cannot look at the database: %w", err)
	}
	if info.IsDir() {
		return nil
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("%s cannot be written (%w): allow it, or set DATA_DIR to another directory", path, err)
	}
	return file.Close()
}

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

// sameOpenFile reports true: Windows neither removes, renames nor replaces a file that SQLite has open.
func sameOpenFile(before, now os.FileInfo) bool { return true }

// giveTo does nothing: a new file belongs to the user that the directory says.
func giveTo(string, os.FileInfo) error { return nil }

// syncDirectory does nothing: the file system keeps a journal of names, and has no way to flush it.
func syncDirectory(string) error { return nil }
