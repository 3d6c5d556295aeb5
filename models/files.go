package models

import (
	"os"
	"time"
)

// files are the files that SQLite has open, as they were found under their names when it opened them.
//
// SQLite in WAL mode does not notice when one of them is removed or replaced: it goes on acknowledging writes, into
// a file that has no name any more. So the names are looked up again after each commit, which takes 3 µs.
type files struct {
	database, wal, shm named
}

// named is a file with the name under which it was found.
type named struct {
	path string
	info os.FileInfo
}

func openFiles(path string) (f files, err error) {
	if f.database, err = find(path); err != nil {
		return f, err
	}
	if f.wal, err = find(path + "-wal"); err != nil {
		return f, err
	}
	f.shm, err = find(path + "-shm")
	return f, err
}

func find(path string) (named, error) {
	info, err := os.Stat(path)
	return named{path, info}, err
}

// inPlace reports whether the name still leads to the file.
func (n named) inPlace() bool {
	info, err := os.Stat(n.path)
	return err == nil && os.SameFile(n.info, info)
}

// inPlace reports whether a restart would find what was written.
func (f *files) inPlace() bool { return f.database.inPlace() && f.wal.inPlace() && f.shm.inPlace() }

// setAside renames the -wal file of a database that was replaced. SQLite would otherwise apply it to the database
// that has taken its place, and mix the two. It is kept: it may hold the last commits of the one that was moved away.
func (f *files) setAside() {
	if !f.database.inPlace() && f.wal.inPlace() {
		_ = os.Rename(f.wal.path, f.wal.path+".lost-"+time.Now().UTC().Format("20060102T150405Z"))
	}
}
