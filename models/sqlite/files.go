package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"users-api/models/sqlite/dbfile"
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
	target, err := dbfile.FollowLinks(path)
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

// mayWrite returns nil if this process may write the database file, the files beside it, and their directory.
func mayWrite(path string) error {
	if refusal := writable(filepath.Dir(path)); refusal != nil {
		return refusal
	}
	for _, file := range []string{path, path + "-wal", path + "-shm"} {
		if refusal := writable(file); refusal != nil && !errors.Is(refusal, os.ErrNotExist) {
			return refusal
		}
	}
	return nil
}

func (f *files) spools() string { return strings.TrimSuffix(f.wal.path, "-wal") + "-spool-" }

// isSameFile reports whether the name still leads to the file. Windows neither removes, renames nor replaces a file that
// SQLite has open.
func (n named) isSameFile() bool {
	info, err := os.Stat(n.path)
	return err == nil && (runtime.GOOS == "windows" || os.SameFile(n.info, info))
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
	_ = dbfile.SyncName(f.wal.path) // a power cut must not bring it back
}
