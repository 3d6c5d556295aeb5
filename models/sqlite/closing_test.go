package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"users-api/models"
	"users-api/models/sqlite/dbfile"
	"users-api/models/sqlite/sqlitetest"
	"users-api/models/storetest"
)

// lockedOut returns a database with a creation that waits for another program's lock, and how it ends.
func lockedOut(t *testing.T) (users *Users, other *sql.DB, created chan error) {
	t.Helper()
	users = openUsers(t, 0)
	other = otherProgram(t, users)
	sqlitetest.Run(t, other, "BEGIN IMMEDIATE")
	created = make(chan error, 1)
	go func() {
		_, err := users.Create(ctx, models.NewUser{Name: "n", Email: "e"})
		created <- err
	}()
	awaitTurn(users)
	return users, other, created
}

func TestClosingFinishesWhatIsInTheQueue(t *testing.T) {
	t.Parallel()
	users, other, created := lockedOut(t)
	closed := make(chan error, 1)
	go func() { closed <- users.Close(ctx) }()
	sqlitetest.Run(t, other, "COMMIT")
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	if err := <-created; err != nil {
		t.Errorf("the connection was closed under the write: %v", err)
	}
}

// A stop is not held up by another program's lock: what waits for it is refused when the stop's time is over.
func TestClosingInAHurryWaitsForNoLock(t *testing.T) {
	t.Parallel()
	users, _, created := lockedOut(t)
	over, cancel := context.WithCancel(ctx)
	cancel()
	began := time.Now()
	if err := users.Close(over); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > dbfile.BusyTimeout*4/5 {
		t.Errorf("it took %s, as long as a write waits for a lock", took)
	}
	if failed, ok := errors.AsType[*models.StorageError](<-created); !ok || failed.Code != "5" {
		t.Errorf("the write that waited: %v", failed)
	}
}

func TestALostFileIsNoticedAndNothingIsAcknowledged(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	storetest.Create(t, users, "before")
	if err := os.Remove(users.writer.files.wal.path); err != nil {
		t.Fatal(err)
	}
	if _, err := users.Create(ctx, models.NewUser{Name: "n", Email: "e"}); !errors.Is(err, models.ErrReplaced) {
		t.Errorf("creating: %v", err)
	}
	<-users.Replaced()
	if err := users.Delete(ctx, 1, nil); !errors.Is(err, models.ErrReplaced) {
		t.Errorf("deleting: %v", err)
	}
}

// The -wal file of a database that was replaced would be applied to the one in its place.
func TestTheWALFileOfAReplacedDatabaseIsSetAside(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	storetest.Create(t, users, "before")
	path, replacement := users.writer.files.database.path, sqlitetest.Closed(t, "another")
	if err := os.Rename(replacement, path); err != nil {
		t.Fatal(err)
	}
	<-users.Replaced() // although no client writes
	if err := users.Close(ctx); !errors.Is(err, models.ErrReplaced) {
		t.Error(err)
	}
	if emails := sqlitetest.Emails(t, path); emails != "another" {
		t.Errorf("the users are %s", emails)
	}
	if aside, err := filepath.Glob(path + "-wal.lost-*"); len(aside) != 1 || err != nil {
		t.Errorf("set aside are %v, %v", aside, err)
	}
}

// Nothing is written to a database that was replaced: another program may have opened it under its new name.
func TestADatabaseThatWasReplacedBeforeACloseIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	storetest.Create(t, users, "before")
	path, moved := users.writer.files.database.path, filepath.Join(t.TempDir(), "moved.db")
	if err := errors.Join(os.Rename(path, moved), os.Rename(sqlitetest.Closed(t, "another"), path)); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(moved)
	if err := errors.Join(err, users.Close(ctx)); !errors.Is(err, models.ErrReplaced) {
		t.Errorf("closing: %v", err)
	}
	if after, err := os.ReadFile(moved); !bytes.Equal(before, after) {
		t.Errorf("it was written to, %v", err)
	}
	if emails := sqlitetest.Emails(t, path); emails != "another" {
		t.Errorf("the users are %s", emails)
	}
}

// SQLite deletes the -wal file by its name when the last connection is closed.
func TestAWALFileThatIsReplacedDuringACloseIsNotDeleted(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	storetest.Create(t, users, "before")
	wal := users.writer.files.wal.path
	reading, closed := <-users.reader.free, make(chan error, 1)
	go func() { closed <- users.Close(ctx) }()
	for len(users.reader.free) > 0 { // the close has checked the files, and closes the readers
		time.Sleep(time.Millisecond)
	}
	if err := errors.Join(os.WriteFile(wal+".new", []byte("another's"), 0o600), os.Rename(wal+".new", wal)); err != nil {
		t.Fatal(err)
	}
	users.reader.free <- reading
	if err := <-closed; !errors.Is(err, models.ErrReplaced) {
		t.Errorf("closing: %v", err)
	}
	if text, err := os.ReadFile(wal); string(text) != "another's" {
		t.Errorf("the new -wal file: %q, %v", text, err)
	}
}

// The -wal file stays while another program has the database open. What it held would be mixed into a database that takes
// the place of this one.
func TestAClosedDatabaseLeavesAnEmptyWALFileToAnotherProgram(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	storetest.Create(t, users, "ada@example.org")
	sqlitetest.Run(t, otherProgram(t, users), "SELECT count(*) FROM users")
	wal := users.writer.files.wal.path
	if err := users.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(wal); err != nil || info.Size() != 0 {
		t.Errorf("the -wal file: %v, %v", info, err)
	}
}

// The files are looked at when the commit is on disk, and not before: they may be taken away meanwhile.
func TestAFileThatIsTakenAwayDuringACommitIsNoticed(t *testing.T) {
	t.Parallel()
	for try := 1; ; try++ {
		users := openUsers(t, 0)
		wal, empty := users.writer.files.wal.path, walSize(t, users)
		ended, watching := make(chan struct{}), make(chan error, 1)
		go func() {
			for walSize(t, users) == empty { // all of it is in the cache until the commit begins
				select {
				case <-ended:
					watching <- nil
					return
				default:
				}
			}
			watching <- os.Remove(wal)
		}()
		err := users.writer.do(ctx, &write{exclusive: true, run: func(tx *transaction) error {
			for i := range 20 {
				user := models.NewUser{Name: strings.Repeat("n", 1_000_000), Email: string(rune('a' + i))}
				if _, err := tx.insert(user); err != nil {
					return err
				}
			}
			return nil
		}})
		close(ended)
		if removal := <-watching; errors.Is(err, models.ErrReplaced) && removal == nil {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if try == 10 { // it may have been taken away too late
			t.Fatal("a commit into a file that is gone is answered as done")
		}
	}
}
