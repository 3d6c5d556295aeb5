package dbfile_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"users-api/database/dbfile"
	"users-api/tests/program"
)

// A service may start after a restore has left WAL mode, and before it has the lock. In WAL mode, an exclusive transaction
// does not keep readers out. It takes many starts until one comes at that moment.
func TestADatabaseOnWhichAServiceStartsIsNotTakenAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "users of #1?%41.db")
	program.WriteFile(t, path, "")
	service, err := dbfile.Open(path, dbfile.ReadWrite, "busy_timeout(0)", "synchronous(OFF)")
	program.Must(t, err)
	defer dbfile.Close(service)
	program.Must(t, service.Exec("CREATE TABLE users (id INTEGER PRIMARY KEY)").Error)
	reads := strings.Repeat("SELECT count(*) FROM users;", 3)
	var starts atomic.Int64
	var done atomic.Bool
	var wait sync.WaitGroup
	defer wait.Wait()
	defer done.Store(true)
	wait.Go(func() {
		for ; !done.Load(); starts.Add(1) {
			_ = service.Exec("PRAGMA journal_mode = WAL;" + reads + "PRAGMA journal_mode = DELETE").Error
		}
	})
	deadline := time.Now().Add(3 * time.Minute)
	for taken := 0; taken < 20 || starts.Load() < 4000; {
		if _, release, err := dbfile.LockExclusive(path); err == nil {
			taken++
			if !isLocked(path) {
				t.Error("another can read it")
			}
			release()
		}
		if time.Now().After(deadline) {
			t.Fatalf("it was taken %d times during %d starts", taken, starts.Load())
		}
	}
}

// Two services may start at once on a database that was put in place by hand. The second must not set aside the -wal file that
// the first has made meanwhile. It takes many starts until one comes at that moment.
func TestAWALFileThatAnotherProcessHasMadeIsNotSetAside(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	path := filepath.Join(directory, "users.db")
	header := []byte("SQLite format 3\x00\x10\x00\x01\x01")
	start := func() error {
		if err := dbfile.SetAsideForeignWAL(path, slog.New(slog.DiscardHandler)); err != nil {
			return err
		}
		inWALMode := append(bytes.Clone(header[:18]), 2, 2)
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			_, err = file.WriteAt(inWALMode, 0)
			err = errors.Join(err, file.Close())
		}
		return errors.Join(err, os.WriteFile(path+"-wal", []byte("own"), 0o600))
	}
	for range 200 {
		program.Must(t, errors.Join(os.WriteFile(path, header, 0o600), os.WriteFile(path+"-wal", []byte("foreign"), 0o600)))
		var wait sync.WaitGroup
		var failed [4]error
		for i := range failed {
			wait.Go(func() { failed[i] = start() })
		}
		wait.Wait()
		wal, err := os.ReadFile(path + "-wal")
		if err = errors.Join(err, errors.Join(failed[:]...)); string(wal) != "own" || err != nil {
			t.Fatalf("beside the database is %q, %v", wal, err)
		}
		aside, _ := filepath.Glob(path + "-wal.lost-*")
		for _, each := range aside {
			if wal, err = os.ReadFile(each); string(wal) != "foreign" || err != nil {
				t.Fatalf("set aside is %q, %v", wal, err)
			}
		}
	}
}

// isLocked reports whether a program that opens the database cannot read it.
func isLocked(path string) bool {
	db, err := dbfile.Open(path, dbfile.ReadWrite, "busy_timeout(0)")
	if err == nil {
		defer dbfile.Close(db)
		err = db.Exec("SELECT count(*) FROM users").Error
	}
	return dbfile.PrimaryCode(err) == sqlite3.SQLITE_BUSY
}
