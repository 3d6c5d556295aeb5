package dbfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	sqlite3 "modernc.org/sqlite/lib"
)

// SQLite's locks (sqlite.org/lockingv3.html) tell whether a process has a database open: in WAL mode a connection holds
// the shared lock for as long as it is open, and none is left stale. The system releases all locks of a process on a
// file when it closes any descriptor of that file. So this code is for processes that do not serve.

// LockExclusive keeps every other process from opening the database until release is called, perhaps twice, and leaves
// no -wal file. For that it leaves WAL mode, for which SQLite needs the database for itself. Exclusive locking mode
// would leave a journal. The file is for reading: closing another one of the database would release all locks (POSIX).
func LockExclusive(path string) (file *os.File, release func(), err error) {
	if file, err = os.Open(path); err != nil {
		return nil, nil, err
	}
	mode, release := "", func() { _ = file.Close() }
	db, err := Open(path, ReadWrite, "busy_timeout(0)", "journal_mode(DELETE)")
	if err == nil {
		release = func() { Close(db); _ = file.Close() }
		if err = db.Exec("BEGIN EXCLUSIVE").Error; err == nil {
			err = db.Raw("PRAGMA journal_mode").Row().Scan(&mode)
		}
	}
	// A service that starts may have switched back to WAL mode, in which an exclusive transaction keeps no reader out.
	if PrimaryCode(err) == sqlite3.SQLITE_BUSY || err == nil && mode != "delete" {
		err = fmt.Errorf("a process has the database %s open: stop the service, and try again", path)
	}
	if err != nil {
		release()
	}
	return file, release, err
}

// FollowLinks returns where a path leads, or the path itself if nothing is there yet.
func FollowLinks(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}

// SetAsideForeignWAL renames a -wal file beside a database that is not its own. A kill leaves one: SQLite would play it into
// a copy that is then put in place by hand, and delete it beside an empty file. Bytes 18 and 19 of a database are 2 in WAL
// mode, as beside a -wal file of its own, and 1 after a backup or a stop (sqlite.org/fileformat2.html).
func SetAsideForeignWAL(path string, logger *slog.Logger) error {
	path = FollowLinks(path)
	database, err := os.Open(path)
	if err != nil {
		return nil // whatever opens it next says why
	}
	defer database.Close() //nolint:errcheck // it was only read
	isForeign := func() bool {
		wal, missing := os.Stat(path + "-wal")
		header, err := io.ReadAll(io.NewSectionReader(database, 0, 20))
		exists := missing == nil && wal.Mode().IsRegular() && wal.Size() > 0
		return exists && err == nil && (len(header) == 0 || bytes.HasSuffix(header, []byte{1, 1}))
	}
	if isForeign() { // of two processes that start at once, the second must not set aside what the first has made since
		err = lock(database)
	}
	if err != nil || !isForeign() {
		return err
	}
	aside, err := SetAsideWAL(path)
	if err == nil {
		logger.Warn("a -wal file of another database was set aside", "file", aside,
			"help", "it has the last writes of the database that was here before: delete it if nobody needs them")
	}
	return err
}

// SetAsideWAL renames a foreign -wal file, and removes its index, the -shm file, which SQLite trusts while a program uses it.
func SetAsideWAL(path string) (aside string, err error) {
	aside = path + "-wal.lost-" + time.Now().UTC().Format("20060102T150405Z")
	if err = os.Rename(path+"-wal", aside); err == nil {
		_ = os.Remove(path + "-shm")
		err = SyncName(path) // a power cut must not bring it back
	}
	return aside, err
}

// SyncFile returns once the content of a file is on disk.
func SyncFile(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// MakeDirectory creates a directory and its missing parents, and returns once their names are on disk: a power cut
// would lose a directory without its name, with all that was flushed into it.
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
