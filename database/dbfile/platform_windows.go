package dbfile

import (
	"os"

	"golang.org/x/sys/windows"
)

func lock(*os.File) error { return nil } // here, two processes that start at once are on their own

// GiveTo does nothing: a new file belongs to the user that the directory says.
func GiveTo(string, os.FileInfo) error { return nil }

// SyncName does nothing: the file system keeps a journal of names, and has no way to flush it.
func SyncName(string) error { return nil }

// FreeBytes returns how much may still be written to the disk of a directory.
func FreeBytes(directory string) (int64, error) {
	name, err := windows.UTF16PtrFromString(directory)
	if err != nil {
		return 0, err
	}
	var free uint64
	err = windows.GetDiskFreeSpaceEx(name, &free, nil, nil)
	return int64(min(free, 1<<62)), err
}
