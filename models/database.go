package models

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

// busyTimeout is how long a connection waits for a lock that another program holds.
const busyTimeout = 5 * time.Second

// maxReaders is how many lists can read pages at once. A page takes about 1 ms, so that more would only wait for a
// core; each costs up to 2 MiB of page cache.
const maxReaders = 4

// connections is the size of the pool: the one that writes, the one that keeps the list, and the readers. All of
// them are opened at the start, so that a program that has run out of file descriptors goes on.
const connections = 2 + maxReaders

// openDatabase opens the file at path, creating it and the table users where they are missing.
func openDatabase(path string) (*gorm.DB, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("cannot make the data directory: %w; make it by hand, or set DATA_DIR to another", err)
	}
	db, err := connect(path)
	for start := time.Now(); isBusy(err) && time.Since(start) < busyTimeout; db, err = connect(path) {
		// Two processes that switch one new file to WAL at once: SQLite answers "locked" without waiting.
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		return nil, explain(path, err)
	}
	return db, nil
}

// connect opens all connections, checks what the file was opened with, and makes the table.
func connect(path string) (*gorm.DB, error) {
	db, err := gorm.Open(sqlite.Open(dataSource(path)), &gorm.Config{
		// GORM would log failing statements with the names and emails in them. Errors are logged by who answers.
		Logger: logger.Discard,
	})
	if err != nil {
		return nil, err
	}
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)
	if err := prepare(db, pool); err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return db, nil
}

func prepare(db *gorm.DB, pool *sql.DB) error {
	if err := warm(pool); err != nil {
		return err
	}
	if err := verify(db); err != nil {
		return err
	}
	return createTable(db)
}

// dataSource returns the driver's name for the database at path. A URL, because the driver cuts a plain path at
// "?" and a raw file: URI at "#". Parameters set here reach every connection; a PRAGMA statement reaches one.
func dataSource(path string) string {
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

// createTable makes the table users where nothing of that name exists, in any letter case, and leaves alone what
// does. GORM's AutoMigrate would copy, drop and rename an existing table on any difference, and lose its indexes and
// triggers. The look and the creation share one immediate transaction, for processes that start at once.
func createTable(db *gorm.DB) error {
	return db.Transaction(func(tx *gorm.DB) error {
		var existing int64
		err := tx.Raw("SELECT count(*) FROM sqlite_master WHERE name = 'users' COLLATE NOCASE AND type IN ('table', 'view')").
			Scan(&existing).Error
		if err != nil || existing > 0 {
			return err
		}
		return tx.Migrator().CreateTable(&User{})
	})
}
