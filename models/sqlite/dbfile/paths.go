package dbfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// FollowLinks returns where a path leads, even if nothing exists there yet.
func FollowLinks(path string) (string, error) {
	const most = 40 // the limit of Linux
	for range most {
		target, err := os.Readlink(path)
		if err != nil {
			return path, nil // it is not a link
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = target
	}
	return "", fmt.Errorf("%s is a symbolic link that leads back to itself", path)
}

// ExpectNoHotJournal returns an error if the database file holds changes of an interrupted transaction. SQLite rolls
// them back as soon as it may write the file. The first byte of a journal that is no longer needed is zero.
func ExpectNoHotJournal(path string) error {
	journal, err := os.Open(path + "-journal")
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot look at the journal of the database: %w", err)
	}
	defer journal.Close() //nolint:errcheck // it was only read
	first := make([]byte, 1)
	if n, _ := journal.Read(first); n == 0 || first[0] == 0 {
		return nil
	}
	return fmt.Errorf("%s-journal belongs to a transaction on %s that was interrupted: open it once with sqlite3 "+
		"(`sqlite3 %s .schema`), which takes that transaction back, and try again", path, path, path)
}

// SyncFile returns once the content of a file is on disk.
func SyncFile(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// MakeDirectory creates a directory and its missing parents, and returns once their names are on disk: data flushed
// into a directory whose name is not on disk is lost with the directory in a power cut.
func MakeDirectory(path string, mode os.FileMode) error {
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) || path == filepath.Dir(path) {
		return os.MkdirAll(path, mode) // it exists, or cannot be created
	}
	if err := MakeDirectory(filepath.Dir(path), mode); err != nil {
		return err
	}
	if err := os.MkdirAll(path, mode); err != nil { // another process may have created it by now
		return err
	}
	return SyncName(path)
}
