package models

import (
	"os"
)

// files are the files that SQLite has open, as they were found under their names when it opened them.
//
// SQLite in WAL mode does not notice when one of them is removed or replaced: it goes on acknowledging writes, into
// a file that has no name any more. So the names are looked up again after each commit, which takes 3 µs.
type files map[string]os.FileInfo

func openFiles(path string) (files, error) {
	found := files{}
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		found[name] = info
	}
	return found, nil
}

// check returns ErrLost when a name leads to another file than it did, or to none.
func (f files) check() error {
	for name, opened := range f {
		if info, err := os.Stat(name); err != nil || !os.SameFile(opened, info) {
			return ErrLost
		}
	}
	return nil
}
