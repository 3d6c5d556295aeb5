// Package dbfile opens an SQLite database, explains its errors, and knows its locks, its name and the files beside it.
//
// In WAL mode (sqlite.org/wal.html) SQLite writes a commit to users.db-wal, with an index of it in users.db-shm. A
// checkpoint copies the pages of the -wal file into the database file; the last connection to close does so too and
// removes both. In the other modes, users.db-journal holds what a transaction overwrites. So users.db alone may lack
// commits, or hold too much.
package dbfile

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"syscall"
	"time"

	driver "github.com/glebarez/go-sqlite"
	"github.com/glebarez/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	sqlite3 "modernc.org/sqlite/lib"
)

// BusyTimeout is how long all wait for a lock of another program: also the driver, without the pragma busy_timeout.
const BusyTimeout = 5 * time.Second

// Mode says how a file is opened: a parameter of its URL (sqlite.org/uri.html#recognized_query_parameters).
type Mode string

// The file must exist. A transaction takes the write lock at once, unless it only reads. An immutable file is one that
// nothing else uses: SQLite takes no locks on it, and neither reads nor creates files beside it.
const (
	ReadWrite Mode = "mode=rw&_txlock=immediate"
	Immutable Mode = "immutable=1"
)

// Open opens the database file at path with a single connection, on which it runs pragmas, such as "synchronous(FULL)"
// (sqlite.org/pragma.html). The URL of C:\data\users.db is file:///C:/data/users.db.
func Open(path string, mode Mode, pragmas ...string) (*gorm.DB, error) {
	if filepath.VolumeName(path) != "" {
		path = "/" + filepath.ToSlash(path)
	}
	query := string(mode) + "&" + url.Values{"_pragma": pragmas}.Encode()
	file := &url.URL{Scheme: "file", Path: path, RawQuery: query}
	db, err := gorm.Open(sqlite.Open(file.String()), &gorm.Config{
		SkipDefaultTransaction: true,
		Logger:                 logger.Discard, // GORM's own prints names and emails with the SQL that fails
	})
	if err != nil {
		return nil, err
	}
	pool, err := db.DB()
	if err == nil {
		pool.SetMaxOpenConns(1)
	}
	return db, err
}

func Close(db *gorm.DB) {
	if pool, err := db.DB(); err == nil {
		_ = pool.Close()
	}
}

// PrimaryCode returns the primary result code that an error of SQLite carries, or 0 if it is not SQLite's.
func PrimaryCode(err error) int {
	if failed, ok := errors.AsType[*driver.Error](err); ok {
		return failed.Code() & 0xff
	}
	return 0
}

// Explain turns SQLite's error from an attempt to open the database at path into a line that says what to do.
func Explain(path string, err error) error {
	const noShare = "on a network share or a shared folder, such as NFS or SMB, set DATA_DIR to a directory on a local disk"
	code := PrimaryCode(err)
	switch {
	case err == nil:
		return nil
	case code == sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%s is not an SQLite database: move it away, or set DATA_DIR to another directory", path)
	case code == sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("the database %s is damaged: restore a backup, or try the .recover command of sqlite3", path)
	case code == sqlite3.SQLITE_BUSY:
		return fmt.Errorf("the database %s is locked by another program for more than %s: find it with `fuser %s`; %s",
			path, BusyTimeout, path, noShare)
	case code == sqlite3.SQLITE_IOERR, code == sqlite3.SQLITE_PROTOCOL:
		return fmt.Errorf("cannot open the database %s: %w; %s", path, err, noShare)
	case code == sqlite3.SQLITE_CANTOPEN, code == sqlite3.SQLITE_READONLY,
		errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		// The file can be written. SQLite's text would be "out of memory (14)". 25 were enough to start, 14 were not.
		return fmt.Errorf("cannot open the database %s: its path may be too long for SQLite, which takes 504 bytes, or the "+
			"limit of open files too low (`ulimit -n`; 40 are enough to start)", path)
	}
	return fmt.Errorf("cannot open the database %s: %w", path, err)
}
