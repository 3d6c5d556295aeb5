package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"users-api/models"
	"users-api/models/batch"
	"users-api/models/sqlite/dbfile"
	"users-api/models/sqlite/sqlitetest"
	"users-api/models/storetest"
)

// together sends writes so that they share one commit: another program holds the write lock until all of them wait.
func together(t *testing.T, users *Users, other *sql.DB, writes ...func() error) []error {
	t.Helper()
	sqlitetest.Run(t, other, "BEGIN IMMEDIATE")
	errs := make([]error, len(writes))
	var wait sync.WaitGroup
	wait.Go(func() { _ = users.Delete(ctx, -1, nil) }) // it is the batch that waits for the lock, alone
	for len(users.writer.underWay) == 0 {
		runtime.Gosched()
	}
	for i, write := range writes {
		wait.Go(func() { errs[i] = write() })
	}
	for len(users.writer.queue.Waiting()) < len(writes) {
		runtime.Gosched()
	}
	sqlitetest.Run(t, other, "COMMIT")
	wait.Wait()
	return errs
}

// creations returns n creations with the names and emails 0, 1 and so on.
func creations(users *Users, n int) (writes []func() error) {
	for i := range n {
		writes = append(writes, func() error {
			_, err := users.Create(ctx, models.NewUser{Name: fmt.Sprint(i), Email: fmt.Sprint(i)})
			return err
		})
	}
	return writes
}

func TestWritesThatArriveTogetherShareACommit(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	other := otherProgram(t, users)
	storetest.Create(t, users, "before")
	walBefore := walSize(t, users)
	for i, err := range together(t, users, other, creations(users, 300)...) {
		if err != nil {
			t.Errorf("creation %d: %v", i, err)
		}
	}
	// 300 commits would write 300 times the page of the table, that of the index and that of the sequence.
	if pages := (walSize(t, users) - walBefore) / 4096; pages > 100 {
		t.Errorf("300 creations wrote %d pages", pages)
	}
}

func walSize(t *testing.T, users *Users) int64 {
	t.Helper()
	info, err := os.Stat(users.writer.files.wal.path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// A write that ends the transaction is taken out, and the others are committed together without it.
func TestAWriteThatRollsTheOthersBackIsTakenOut(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 1<<20)
	other := otherProgram(t, users)
	sqlitetest.Run(t, other, "CREATE TRIGGER r AFTER INSERT ON users WHEN new.name IN ('3', '11') BEGIN SELECT RAISE(ROLLBACK, 'not him'); END")
	walBefore := walSize(t, users)
	for i, err := range together(t, users, other, creations(users, 200)...) {
		if refused := i == 3 || i == 11; (err != nil) != refused || refused && !strings.Contains(err.Error(), "not him") {
			t.Errorf("creation %d: %v", i, err)
		}
	}
	if n, err := users.Count(ctx, models.Query{}); n != 198 || err != nil {
		t.Errorf("%d users are stored, %v", n, err)
	}
	if pages := (walSize(t, users) - walBefore) / 4096; pages > 100 {
		t.Errorf("198 creations wrote %d pages: each was committed alone", pages)
	}
}

// What was refused because of another write of its batch is asked again when that write has failed for another reason.
func TestARefusalIsOfTheTransactionThatIsCommitted(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	other := otherProgram(t, users)
	sqlitetest.Run(t, other, "CREATE TRIGGER r AFTER UPDATE ON users BEGIN SELECT RAISE(ROLLBACK, 'no'); END")
	ada, alan := storetest.Create(t, users, "ada"), storetest.Create(t, users, "alan")
	errs := together(t, users, other,
		func() error { return users.Delete(ctx, ada, nil) },
		func() error { return users.Delete(ctx, ada, nil) },
		func() error {
			name := "n"
			_, err := users.Change(ctx, alan, storetest.Values("name", name), nil)
			return err
		})
	gone := slices.IndexFunc(errs[:2], func(err error) bool { return err == nil })
	if gone < 0 || !errors.Is(errs[1-gone], models.ErrNotFound) || errs[2] == nil {
		t.Errorf("two deletions of one user and a write that rolls back: %v", errs)
	}
}

// A transaction that cannot be committed is rolled back, each of its writes is refused, and the next is done.
func TestACommitThatFailsIsRolledBack(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 1<<20)
	other := otherProgram(t, users)
	sqlitetest.Run(t, other, "CREATE TABLE places (id INTEGER PRIMARY KEY)",
		"CREATE TABLE homes (place INTEGER REFERENCES places DEFERRABLE INITIALLY DEFERRED)",
		"CREATE TRIGGER h AFTER INSERT ON users WHEN new.name = 'bad' BEGIN INSERT INTO homes VALUES (1); END")
	onWriter(t, users, func(conn *connection) error { return conn.Script("PRAGMA foreign_keys = ON") })
	_, err := users.Create(ctx, models.NewUser{Name: "bad", Email: "bad"})
	if err == nil || !strings.Contains(err.Error(), "FOREIGN KEY") {
		t.Errorf("the creation: %v", err)
	}
	storetest.Create(t, users, "good")
	if text, _ := storetest.Text(t, users); strings.Contains(text, "bad") || !strings.Contains(text, "good") {
		t.Errorf("the list is %s", text)
	}
}

// No client is answered with what was true only in a transaction that was never committed.
func TestARefusalInACommitThatFailsIsNotAnswered(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	other := otherProgram(t, users)
	sqlitetest.Run(t, other, "CREATE TABLE places (id INTEGER PRIMARY KEY)",
		"CREATE TABLE homes (place INTEGER REFERENCES places DEFERRABLE INITIALLY DEFERRED)",
		"CREATE TRIGGER h AFTER DELETE ON users BEGIN INSERT INTO homes VALUES (1); END")
	ada := storetest.Create(t, users, "ada")
	onWriter(t, users, func(conn *connection) error { return conn.Script("PRAGMA foreign_keys = ON") })
	remove := func() error { return users.Delete(ctx, ada, nil) }
	for _, err := range together(t, users, other, remove, remove) {
		if err == nil || !strings.Contains(err.Error(), "FOREIGN KEY") {
			t.Errorf("a deletion, of two of one user: %v", err)
		}
	}
}

// A full disk is the fault of no one write: every write of the batch is told.
func TestWithoutRoomEveryWriteIsRefused(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	other := otherProgram(t, users)
	storetest.Create(t, users, "before")
	onWriter(t, users, func(conn *connection) error { return conn.Script("PRAGMA max_page_count = 1") }) // no more than there are
	large := func(i int) func() error {
		return func() error {
			_, err := users.Create(ctx, models.NewUser{Name: strings.Repeat("n", 100_000), Email: fmt.Sprint(i)})
			return err
		}
	}
	small := func() error {
		_, err := users.Create(ctx, models.NewUser{Name: "n", Email: "small"})
		return err
	}
	for i, err := range together(t, users, other, large(1), small, large(2), large(3)) {
		if failed, ok := errors.AsType[*models.StorageError](err); !ok || failed.Code != "13" {
			t.Errorf("creation %d: %v", i, err)
		}
	}
	onWriter(t, users, func(conn *connection) error { return conn.Script("PRAGMA max_page_count = 1000000") })
	storetest.Create(t, users, "after")
}

// A failure of the disk may leave the transaction open: what it has written is taken back, and the next write is done.
func TestATransactionThatTheDiskFailedIsRolledBack(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	failed := &dbfile.Error{Text: "disk I/O error (10)", Code: dbfile.CodeIO}
	err := users.writer.do(ctx, &write{run: func(tx *transaction) error {
		if _, err := tx.insert(models.NewUser{Name: "n", Email: "lost"}); err != nil {
			return err
		}
		return failed
	}})
	if !errors.Is(err, failed) {
		t.Errorf("the write: %v", err)
	}
	storetest.Create(t, users, "after")
	expectSound(t, users, 1)
}

// A full queue makes a write wait, and its context ends the waiting; what was taken is done.
func TestTheContextOfAWriteEndsItsWaitForAFullQueue(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	other := otherProgram(t, users)
	sqlitetest.Run(t, other, "BEGIN IMMEDIATE")
	var mu sync.Mutex
	stored := 0
	var wait sync.WaitGroup
	waiting, cancel := context.WithCancel(ctx)
	for i := range 3 * batch.Most {
		wait.Go(func() {
			_, err := users.Create(waiting, models.NewUser{Name: "n", Email: fmt.Sprint(i)})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				stored++
			case !errors.Is(err, context.Canceled):
				t.Error(err)
			}
		})
	}
	for len(users.writer.queue.Waiting()) < batch.Most {
		runtime.Gosched() // until it is full, with one batch waiting for the lock
	}
	cancel()
	sqlitetest.Run(t, other, "COMMIT")
	wait.Wait()
	if stored < batch.Most || stored > 2*batch.Most+1 {
		t.Errorf("%d writes were stored, with a queue of %d", stored, batch.Most)
	}
}

// onWriter runs a function on the connection that writes, while no commit is under way. What follows an import there goes
// on when the import is answered: a test that did not wait for it once damaged the memory of SQLite.
func onWriter(t testing.TB, users *Users, run func(*connection) error) {
	t.Helper()
	users.writer.pause(func() {
		if err := run(users.writer.conn); err != nil {
			t.Fatal(err)
		}
	})
}
