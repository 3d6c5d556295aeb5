package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	"github.com/glebarez/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// busyTimeout is how long startup, a write and a read wait for a lock that another program holds.
const busyTimeout = 5 * time.Second

// busyTick is how long SQLite waits by itself where something else can end the wait too, such as a stop.
const busyTick = 50 * time.Millisecond

// maxReaders is how many requests can read at once, besides the refresh of the cached list. A page takes about 1 ms, so
// more requests would only wait for a core; each connection costs up to 2 MiB of page cache.
const maxReaders = 4

// openDatabase creates the database at path and the table users if they are missing. It returns the file that path
// leads to, and GORM's connection: while this is open, no other connection is the last one to close the files. The
// context ends the wait for another program's lock.
func openDatabase(ctx context.Context, path string) (target string, db *gorm.DB, err error) {
	if err := MakeDirectory(filepath.Dir(path), 0o700); err != nil {
		return "", nil, fmt.Errorf("cannot make the data directory: %w; make it by hand, or set DATA_DIR to another", err)
	}
	if target, err = followLinks(path); err != nil {
		return "", nil, err
	}
	made := makeFile(target)
	if err := mayWrite(target); err != nil {
		return "", nil, err
	}
	if made != nil {
		return "", nil, fmt.Errorf("cannot make the database: %w", made)
	}
	db, err = prepare(ctx, target)
	if err != nil && ctx.Err() != nil {
		return "", nil, fmt.Errorf("stopped while another program held the lock of %s: %w", path, ctx.Err())
	}
	return target, db, explain(path, err)
}

// prepare makes the file a database in WAL mode with a table users that this process can write, and returns the
// connection that did so. It waits for locks: that of a transaction, and that of another process that prepares the same
// file at the same time, for which SQLite returns "locked" without waiting.
func prepare(ctx context.Context, path string) (*gorm.DB, error) {
	ctx, cancel := context.WithTimeout(ctx, busyTimeout)
	defer cancel()
	for {
		db, err := prepareOnce(path)
		if err == nil || !isBusy(err) && !errors.Is(err, errMoved) || ctx.Err() != nil {
			return db, err
		}
		select { // SQLite has waited for busyTick, or not at all
		case <-ctx.Done():
		case <-time.After(busyTick / 5):
		}
	}
}

// prepareOnce is prepare without waiting. A restore may have replaced the file while this connection waited for its
// lock. The old file is then not in WAL mode, and SQLite refuses to switch a file that has lost its name.
func prepareOnce(path string) (*gorm.DB, error) {
	file, err := findFile(path)
	if err != nil {
		return nil, err
	}
	db, pool, err := open(dataSource(path, busyTick))
	if err != nil && !file.isSameFile() {
		err = errMoved
	}
	if err != nil {
		return nil, err
	}
	if err := createTable(db); err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return db, nil
}

// connect opens a connection of the service, and verifies its settings.
func connect(path string) (connection, error) {
	conn, err := openConnection(fileSource(path), pragmas(busyTimeout)...)
	if err == nil {
		err = conn.verify()
	}
	return conn, err
}

// open opens GORM with one connection.
func open(source string) (*gorm.DB, *sql.DB, error) {
	db, err := gorm.Open(sqlite.Open(source), &gorm.Config{
		// GORM would log failing statements with the names and emails in them. The callers log errors.
		Logger: logger.Discard,
	})
	if err != nil {
		return nil, nil, err
	}
	pool, err := db.DB()
	if err != nil {
		return nil, nil, err
	}
	pool.SetMaxOpenConns(1)
	return db, pool, nil
}

// dataSource returns the driver's name for the database at path. It is a URL, because the driver cuts a plain path at
// "?" and a raw file: URI at "#".
func dataSource(path string, busyTimeout time.Duration) string {
	parameters := url.Values{
		// A transaction takes the write lock when it begins: one that took it later could not wait for it.
		"_txlock": {"immediate"},
		"_pragma": pragmas(busyTimeout),
	}
	return fileURL(path, parameters)
}

// fileURL returns the URL of a file. That of C:\data\users.db is file:///C:/data/users.db.
func fileURL(path string, parameters url.Values) string {
	if filepath.VolumeName(path) != "" {
		path = "/" + filepath.ToSlash(path)
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: parameters.Encode()}).String()
}

// pragmas are the settings of every connection.
func pragmas(busyTimeout time.Duration) []string {
	return []string{
		fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()),
		"journal_mode(WAL)",  // readers and the writer do not wait for each other
		"synchronous(FULL)",  // a commit is on disk before its response; NORMAL may lose it in a power cut
		"temp_store(MEMORY)", // a scratch container has no /tmp
	}
}

// verify reads back the settings that durability depends on: SQLite ignores a misspelt pragma without an error.
func (c connection) verify() error {
	for pragma, want := range map[string]string{
		"journal_mode": "wal", "synchronous": "2", "busy_timeout": fmt.Sprint(busyTimeout.Milliseconds()),
	} {
		got, err := c.setting(pragma)
		if err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("SQLite runs with %s = %s, and not with %s", pragma, got, want)
		}
	}
	return nil
}
