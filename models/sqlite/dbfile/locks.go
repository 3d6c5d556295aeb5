package dbfile

import (
	"errors"
	"fmt"
	"os"
)

// The locks that SQLite itself takes (sqlite.org/lockingv3.html) tell whether a process has a database open: a
// connection in WAL mode holds the shared lock on the database file for as long as it is open, idle or not. The system
// releases the locks of a process however it ends, so no stale lock is left.
//
// The system also releases all locks of a process on a file when the process closes any descriptor of that file. So
// this code is for processes that do not serve.

// ErrMoved: the name of the database leads to a different file than when it was opened.
var ErrMoved = errors.New("the database was replaced while it was being opened")

// inUse says that a process has the database open, and which one if that is known.
func inUse(path string, pid int32) error {
	who := "a process"
	if pid > 0 {
		who = fmt.Sprintf("the process %d", pid)
	}
	return fmt.Errorf("%s has the database %s open: stop the service, and try again", who, path)
}

// ExpectUnused returns an error while a process has the database open. It changes nothing.
func ExpectUnused(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot look at the database: %w", err)
	}
	defer file.Close() //nolint:errcheck // only its locks were queried
	pid, held, err := lockHolder(file)
	if err != nil {
		return fmt.Errorf("cannot find out who has the database %s open: %w", path, err)
	}
	if held {
		return inUse(path, pid)
	}
	return nil
}

// LockExclusive keeps anyone else from opening the database until release is called. The content of the -wal file is
// then in the database file, and the -wal file is gone; a database that SQLite cannot read keeps its -wal file.
func LockExclusive(path string) (release func(), err error) {
	before, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	release, err = lockDatabase(path)
	if code := PrimaryCode(err); code == CodeNotADB || code == CodeCorrupt {
		release, err = lockFile(path)
	}
	switch {
	case PrimaryCode(err) == CodeBusy:
		return nil, inUse(path, 0)
	case PrimaryCode(err) != 0:
		return nil, Explain(path, err)
	case err != nil:
		return nil, err
	}
	if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) {
		release()
		return nil, errors.Join(ErrMoved, err)
	}
	return release, nil
}

// lockDatabase leaves WAL mode, for which SQLite needs the database for itself, and then keeps others out with the
// exclusive lock. In exclusive locking mode both would be one step, but SQLite would leave a journal.
func lockDatabase(path string) (release func(), err error) {
	conn, err := Open(path, ReadWrite)
	if err != nil {
		return nil, err
	}
	if err = conn.Script("PRAGMA busy_timeout = 0; PRAGMA journal_mode = DELETE"); err == nil {
		err = conn.keepOthersOut(path)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn.Close, nil
}

// keepOthersOut begins an exclusive transaction. It returns an error if a starting service has switched back to WAL
// mode since this connection left it: in WAL mode, an exclusive transaction does not keep readers out.
func (c *Connection) keepOthersOut(path string) error {
	if err := c.Script("BEGIN EXCLUSIVE"); err != nil {
		return err
	}
	mode, err := c.Setting("journal_mode")
	if err == nil && mode != "delete" {
		err = inUse(path, 0)
	}
	return err
}

func lockFile(path string) (release func(), err error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if err := lock(file); err != nil {
		_ = file.Close()
		return nil, inUse(path, 0)
	}
	return func() { _ = file.Close() }, nil
}
