// Package dbfile accesses SQLite database files: a connection to one (connection.go), its errors (errors.go), its locks
// (locks.go) and its name and those of the files beside it (paths.go). Nothing else in the program calls SQLite.
//
// A database is a file, such as users.db. In WAL mode (sqlite.org/wal.html) SQLite writes a commit to users.db-wal, and
// keeps an index of that file in users.db-shm. A checkpoint copies the pages of the -wal file into the database file,
// and the last connection to close does so too and removes both. In the other modes, users.db-journal holds what a
// transaction overwrites in the database file. So the database file alone may lack commits, or hold too much.
//
// A statement is compiled before it runs. zombiezen.com/go/sqlite keeps statements compiled. GORM's driver, on the same
// SQLite, compiles a statement each time it runs, which takes longer than reading a user.
package dbfile

import (
	"net/url"
	"path/filepath"
	"time"
)

// BusyTimeout is how long startup, a write, a read and a backup wait for a lock that another program holds.
const BusyTimeout = 5 * time.Second

// Mode says how a file is opened: a parameter of its URL (sqlite.org/uri.html#recognized_query_parameters).
type Mode string

const (
	// ReadWrite opens a file that exists.
	ReadWrite Mode = "mode=rw"
	// ReadOnly opens a file that exists, and writes nothing to it. In WAL mode, SQLite may create a -shm file.
	ReadOnly Mode = "mode=ro"
	// Immutable reads a file that nothing else uses. SQLite takes no locks on it, and neither reads nor creates files
	// beside it.
	Immutable Mode = "immutable=1"
)

// fileURL returns the URL of a file. That of C:\data\users.db is file:///C:/data/users.db.
func fileURL(path string, mode Mode) string {
	if filepath.VolumeName(path) != "" {
		path = "/" + filepath.ToSlash(path)
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: string(mode)}).String()
}
