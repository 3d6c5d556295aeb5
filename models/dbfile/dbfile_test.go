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

// open opens a database until the end of the test, and runs statements.
func open(t testing.TB, path string, statements ...string) *gorm.DB {
	t.Helper()
	db, err := dbfile.Open(path, dbfile.ReadWrite, "busy_timeout(0)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dbfile.Close(db) })
	run(t, db, statements...)
	return db
}

func run(t testing.TB, db *gorm.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if err := db.Exec(statement).Error; err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// file makes a database and returns its path.
func file(t testing.TB) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "users of #1?%41.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dbfile.Close(open(t, path, "CREATE TABLE users (id INTEGER PRIMARY KEY)"))
	return path
}

// A service may start after a restore has left WAL mode, and before it has the lock. In WAL mode, an exclusive transaction
// does not keep readers out. It takes many starts until one comes at that moment.
func TestADatabaseOnWhichAServiceStartsIsNotTakenAlone(t *testing.T) {
	t.Parallel()
	path := file(t)
	service := open(t, path, "PRAGMA synchronous = OFF")
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
	path := file(t)
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
