package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// files are the files that SQLite has open, as they were found under their names when it opened them.
//
// SQLite in WAL mode does not notice when one of them is removed or replaced: it goes on acknowledging writes to a file
// that no longer has a name. So the names are looked up again after each commit, which takes 3 µs.
type files struct {
	database, wal, shm named
}

// named is a file and the name under which it was found.
type named struct {
	path string
	info os.FileInfo
}

// findFiles finds the files of the database at path, which may be a symbolic link: SQLite keeps the others beside its
// target.
func findFiles(path string) (f files, err error) {
	target, err := followLinks(path)
	if err != nil {
		return f, err
	}
	if f.database, err = findFile(path); err != nil {
		return f, err
	}
	if f.wal, err = findFile(target + "-wal"); err != nil {
		return f, err
	}
	f.shm, err = findFile(target + "-shm")
	return f, err
}

func findFile(path string) (named, error) {
	info, err := os.Stat(path)
	return named{path, info}, err
}

// followLinks returns where a path leads, even if nothing exists there yet.
func followLinks(path string) (string, error) {
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

// expectNoHotJournal returns an error if the database file holds changes of an interrupted transaction. SQLite rolls
// them back as soon as it may write the file. The first byte of a journal that is no longer needed is zero.
func expectNoHotJournal(path string) error {
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
	return syncDirectory(path)
}

// makeFile creates the database file if it is missing, for this user alone: SQLite gives the files beside it the same
// mode. An existing file is left as it is.
func makeFile(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return file.Close()
}

// spools returns how the names of spools begin. The spools are beside the database.
func (f *files) spools() string { return strings.TrimSuffix(f.wal.path, "-wal") + "-spool-" }

// isSameFile reports whether the name still leads to the file.
func (n named) isSameFile() bool {
	info, err := os.Stat(n.path)
	return err == nil && sameOpenFile(n.info, info)
}

// isSameFile reports whether a restart would find what was written.
func (f *files) isSameFile() bool {
	return f.database.isSameFile() && f.wal.isSameFile() && f.shm.isSameFile()
}

// quarantine renames the -wal file of a database that was replaced. Otherwise SQLite would apply it to the new
// database, and mix the two. It is kept because it may hold the last commits of the old database. The -shm file is an
// index of it, which SQLite trusts for as long as another program has the old database open.
func (f *files) quarantine() {
	if f.database.isSameFile() || !f.wal.isSameFile() {
		return // the -wal file belongs to the database, or came with the new one
	}
	_ = os.Rename(f.wal.path, f.wal.path+".lost-"+time.Now().UTC().Format("20060102T150405Z"))
	if f.shm.isSameFile() {
		_ = os.Remove(f.shm.path)
	}
}
