package dbfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"users-api/models/dbfile"
)

// open opens a database until the end of the test, and makes a table.
func open(t testing.TB) (path string, db *gorm.DB) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "users of #1?%41.db")
	err := os.WriteFile(path, nil, 0o600)
	if err == nil {
		db, err = dbfile.Open(path, dbfile.ReadWrite, "busy_timeout(0)", "synchronous(OFF)")
	}
	if err == nil {
		t.Cleanup(func() { dbfile.Close(db) })
		err = db.Exec("CREATE TABLE users (id INTEGER PRIMARY KEY)").Error
	}
	if err != nil {
		t.Fatal(err)
	}
	return path, db
}

// A service may start after a restore has left WAL mode, and before it has the lock. In WAL mode, an exclusive transaction
// does not keep readers out. It takes many starts until one comes at that moment.
func TestADatabaseOnWhichAServiceStartsIsNotTakenAlone(t *testing.T) {
	t.Parallel()
	path, service := open(t)
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
		if release, err := dbfile.LockExclusive(path); err == nil {
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

// isLocked reports whether a program that opens the database cannot read it.
func isLocked(path string) bool {
	db, err := dbfile.Open(path, dbfile.ReadWrite, "busy_timeout(0)")
	if err == nil {
		defer dbfile.Close(db)
		err = db.Exec("SELECT count(*) FROM users").Error
	}
	return dbfile.PrimaryCode(err) == dbfile.CodeBusy
}

// Two restores may meet: one renames the file that the other locks.
func TestAFileThatIsReplacedWhileItIsLockedIsNotTaken(t *testing.T) {
	t.Parallel()
	path, db := open(t)
	dbfile.Close(db)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var noticed atomic.Bool
	var wait sync.WaitGroup
	defer wait.Wait()
	defer noticed.Store(true)
	wait.Go(func() {
		for !noticed.Load() {
			_ = errors.Join(os.WriteFile(path+".new", content, 0o600), os.Rename(path+".new", path))
			time.Sleep(time.Millisecond)
		}
	})
	for deadline := time.Now().Add(time.Minute); ; {
		release, err := dbfile.LockExclusive(path)
		switch {
		case err == nil:
			release()
		case errors.Is(err, dbfile.ErrMoved):
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("it is never noticed")
		}
	}
}
