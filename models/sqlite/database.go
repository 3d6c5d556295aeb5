package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/glebarez/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// busyTimeout is how long a start, a write and a read wait for a lock that another program holds.
const busyTimeout = 5 * time.Second

// busyTick is how long SQLite waits by itself where more than the time can end the wait: a stop, for one.
const busyTick = 50 * time.Millisecond

// maxReaders is how many requests can read at once beside the list that is kept. A page takes about 1 ms, so that more
// would only wait for a core; each costs up to 2 MiB of page cache.
const maxReaders = 4

// connections is the size of the pool: the one that writes, the one that keeps the list, and the readers. All of
// them are opened at the start, so that a program that has run out of file descriptors goes on.
const connections = 2 + maxReaders

// openDatabase opens the file at path, and makes it and the table users where they are missing. The context ends the
// wait for another program's lock.
func openDatabase(ctx context.Context, path string) (*gorm.DB, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the data directory: %w; make it by hand, or set DATA_DIR to another", err)
	}
	target, err := followLinks(path)
	if err != nil {
		return nil, err
	}
	made := makeFile(target)
	if err := mayWrite(target); err != nil {
		return nil, err
	}
	if made != nil {
		return nil, fmt.Errorf("cannot make the database: %w", made)
	}
	first, err := prepare(ctx, target)
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("stopped while another program held the lock of %s: %w", path, ctx.Err())
	}
	if err != nil {
		return nil, explain(path, err)
	}
	defer first.Close() //nolint:errcheck // it only kept the files from being closed by the last connection
	db, err := connect(target)
	if err != nil {
		return nil, explain(path, err)
	}
	return db, nil
}

// prepare makes the file a database in WAL mode with a table users that this process can write, and returns the pool
// that did. It waits for locks: of a transaction, and of another process that makes the same file a database at once,
// where SQLite answers "locked" without waiting.
func prepare(ctx context.Context, path string) (*sql.DB, error) {
	ctx, cancel := context.WithTimeout(ctx, busyTimeout)
	defer cancel()
	for {
		pool, err := prepareOnce(path)
		if err == nil || !isBusy(err) && !errors.Is(err, errMoved) || ctx.Err() != nil {
			return pool, err
		}
		select { // SQLite has waited for busyTick, or not at all
		case <-ctx.Done():
		case <-time.After(busyTick / 5):
		}
	}
}

// prepareOnce is prepare without waiting. A restore may have replaced the file while this connection waited for its
// lock. The old file is not in WAL mode then, and SQLite refuses to bring a file into it that has lost its name.
func prepareOnce(path string) (*sql.DB, error) {
	file, err := findFile(path)
	if err != nil {
		return nil, err
	}
	db, pool, err := open(dataSource(path, busyTick), 1)
	if err != nil && !file.inPlace() {
		err = errMoved
	}
	if err != nil {
		return nil, err
	}
	if err := createTable(db); err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return pool, nil
}

// connect opens all connections, and checks what the file was opened with.
func connect(path string) (*gorm.DB, error) {
	db, pool, err := open(dataSource(path, busyTimeout), connections)
	if err != nil {
		return nil, err
	}
	if err := warm(pool); err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	if err := verify(db); err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return db, nil
}

// open opens a pool of so many connections.
func open(source string, size int) (*gorm.DB, *sql.DB, error) {
	db, err := gorm.Open(sqlite.Open(source), &gorm.Config{
		// GORM would log failing statements with the names and emails in them. Errors are logged by who answers.
		Logger: logger.Discard,
	})
	if err != nil {
		return nil, nil, err
	}
	pool, err := db.DB()
	if err != nil {
		return nil, nil, err
	}
	pool.SetMaxOpenConns(size)
	pool.SetMaxIdleConns(size)
	return db, pool, nil
}

// dataSource returns the driver's name for the database at path. A URL, because the driver cuts a plain path at
// "?" and a raw file: URI at "#". Parameters set here reach every connection; a PRAGMA statement reaches one.
func dataSource(path string, busyTimeout time.Duration) string {
	parameters := url.Values{
		// A transaction takes the write lock when it begins: one that took it later could not wait for it.
		"_txlock": {"immediate"},
		"_pragma": {
			fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()),
			"journal_mode(WAL)",  // readers and the writer do not wait for each other
			"synchronous(FULL)",  // a commit is on disk before it is answered; NORMAL may lose it in a power cut
			"temp_store(MEMORY)", // a scratch container has no /tmp
		},
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: parameters.Encode()}).String()
}

// warm opens every connection of the pool.
func warm(pool *sql.DB) error {
	for range connections {
		conn, err := pool.Conn(context.Background())
		if err != nil {
			return err
		}
		defer conn.Close() //nolint:errcheck // it goes back to the pool
	}
	return nil
}

// verify reads back what durability rests on: the driver accepts a misspelt pragma in silence.
func verify(db *gorm.DB) error {
	for pragma, want := range map[string]string{
		"journal_mode": "wal", "synchronous": "2", "busy_timeout": fmt.Sprint(busyTimeout.Milliseconds()),
	} {
		var got string
		if err := db.Raw("PRAGMA " + pragma).Scan(&got).Error; err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("SQLite runs with %s = %s, and not with %s", pragma, got, want)
		}
	}
	return nil
}
