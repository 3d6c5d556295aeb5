package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"users-api/models"
	"users-api/models/sqlite/dbfile"
)

// busyTick is how long SQLite waits by itself where something else can end the wait too, such as a stop.
const busyTick = 50 * time.Millisecond

// maxReaders is how many requests can read at once, besides the refresh of the cached list. A page takes about 1 ms, so
// more requests would only wait for a core; each connection costs up to 2 MiB of page cache.
const maxReaders = 4

// openDatabase creates the database at path and the table users if they are missing. It returns the file that path
// leads to, and a connection: while this is open, no other one is the last to close the files. The context ends the wait
// for another program's lock.
func openDatabase(ctx context.Context, path string, fields models.Fields) (target string, conn *dbfile.Connection, err error) {
	if err := dbfile.MakeDirectory(filepath.Dir(path), 0o700); err != nil {
		return "", nil, fmt.Errorf("cannot make the data directory: %w; make it by hand, or set DATA_DIR to another", err)
	}
	if target, err = dbfile.FollowLinks(path); err != nil {
		return "", nil, err
	}
	made := makeFile(target)
	if err := mayWrite(target); err != nil {
		return "", nil, err
	}
	if made != nil {
		return "", nil, fmt.Errorf("cannot make the database: %w", made)
	}
	// A process may have been killed between writing a commit and flushing it. From now on, clients are shown that commit.
	if err := dbfile.SyncFile(target + "-wal"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", nil, fmt.Errorf("cannot bring the last commits to disk: %w", err)
	}
	conn, err = prepare(ctx, target, fields)
	if err != nil && ctx.Err() != nil {
		return "", nil, fmt.Errorf("stopped while another program held the lock of %s: %w", path, ctx.Err())
	}
	return target, conn, dbfile.Explain(path, err)
}

// prepare makes the file a database in WAL mode with a table users that this process can write, and returns the
// connection that did so. It waits for locks: that of a transaction, and that of another process that prepares the same
// file at the same time, for which SQLite returns "locked" without waiting.
func prepare(ctx context.Context, path string, fields models.Fields) (*dbfile.Connection, error) {
	ctx, cancel := context.WithTimeout(ctx, dbfile.BusyTimeout)
	defer cancel()
	for {
		conn, err := prepareOnce(path, fields)
		if err == nil || !isBusy(err) && !errors.Is(err, dbfile.ErrMoved) || ctx.Err() != nil {
			return conn, err
		}
		select { // SQLite has waited for busyTick, or not at all
		case <-ctx.Done():
		case <-time.After(busyTick / 5):
		}
	}
}

// prepareOnce is prepare without waiting. A restore may have replaced the file while this connection waited for its
// lock. The old file is then not in WAL mode, and SQLite refuses to switch a file that has lost its name.
func prepareOnce(path string, fields models.Fields) (*dbfile.Connection, error) {
	file, err := findFile(path)
	if err != nil {
		return nil, err
	}
	conn, err := dbfile.Open(path, dbfile.ReadWrite, pragmas(busyTick)...)
	if err != nil && !file.isSameFile() {
		err = dbfile.ErrMoved
	}
	if err != nil {
		return nil, err
	}
	if err := createTable(conn, fields); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// connect opens a connection of the service, and verifies its settings.
func connect(path string) (*dbfile.Connection, error) {
	conn, err := dbfile.Open(path, dbfile.ReadWrite, pragmas(dbfile.BusyTimeout)...)
	if err == nil {
		err = verify(conn)
	}
	return conn, err
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
func verify(conn *dbfile.Connection) error {
	for pragma, want := range map[string]string{
		"journal_mode": "wal", "synchronous": "2", "busy_timeout": fmt.Sprint(dbfile.BusyTimeout.Milliseconds()),
	} {
		got, err := conn.Setting(pragma)
		if err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("SQLite runs with %s = %s, and not with %s", pragma, got, want)
		}
	}
	return nil
}
