package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"sync"
	"testing"
	"time"

	"users-api/models"
	"users-api/models/sqlite/sqlitetest"
	"users-api/models/storetest"
)

// With SQLite's own page cache an import of 1,000,000 users takes more than twice as long.
func TestALongWriteHasALargeCacheAlsoBehindOthers(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	short := func(tx *transaction) error {
		_, err := tx.insert(models.NewUser{Name: "n", Email: "short"})
		return err
	}
	long := func(tx *transaction) error {
		if size, _, err := tx.conn.Number("PRAGMA cache_size"); size != -exclusiveCache || err != nil {
			t.Errorf("the cache is %d, %v", size, err)
		}
		return nil
	}
	var wait sync.WaitGroup
	users.writer.pause(func() { // so that the batch is gathered when all three are there
		for i, w := range []*write{{run: short}, {run: long, exclusive: true}, {run: long, exclusive: true}} {
			wait.Go(func() {
				if err := users.writer.do(ctx, w); err != nil {
					t.Error(err)
				}
			})
			for len(users.writer.queue.Waiting()) < i { // the loop has taken the first
				runtime.Gosched()
			}
		}
	})
	wait.Wait()
}

// A checkpoint while another one runs is refused, and would leave the -wal file as large as the import made it.
func TestAnImportWaitsForACheckpointBeforeItGivesBackTheWALFile(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	users.writer.checkpoints.running.Lock()
	if _, err := users.Import(ctx, storetest.Rows(models.NewUser{Name: "n", Email: "e"}), models.ImportOptions{}); err != nil {
		t.Error(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); users.writer.pause(func() {}) }()
	select {
	case <-ended:
		t.Error("it did not wait")
	case <-time.After(2 * busyTick):
	}
	users.writer.checkpoints.running.Unlock()
	<-ended
	if bytes := walSize(t, users); bytes != 0 {
		t.Errorf("the -wal file has %d bytes", bytes)
	}
}

// The users are looked through in pages of 10,000. One that is on no page would stay, or be counted twice.
func TestWhoIsMissingIsFoundHoweverManyThereAre(t *testing.T) {
	storetest.OneGoroutine(t)
	t.Parallel()
	for name, n := range map[string]int{"in three pages": 20_001, "in a page that ends with the highest id": 10_000} {
		t.Run(name, func(t *testing.T) {
			users := openUsers(t, 0)
			fill(t, users, n-1)
			sqlitetest.Run(t, otherProgram(t, users),
				fmt.Sprintf("INSERT INTO users (id, name, email) VALUES (%d, 'last', 'last')", int64(math.MaxInt64)))
			storetest.DeleteMissing(t, users, n)
			expectSound(t, users, 0)
		})
	}
}

// An id may be any whole number.
func TestWhoIsMissingIsFoundWhateverTheID(t *testing.T) {
	t.Parallel()
	users, _ := openTable(t, 0, sqlitetest.Table, fmt.Sprintf(`INSERT INTO users VALUES (%d, 'n', 'lowest', ''), (-65, 'n', 'stays', ''),
		(-64, 'n', 'goes', ''), (0, 'n', 'zero', ''), (1, 'n', 'stays too', ''), (%d, 'n', 'highest', '')`, int64(math.MinInt64), int64(math.MaxInt64)))
	rows := storetest.Rows(models.NewUser{Name: "n", Email: "stays"}, models.NewUser{Name: "n", Email: "stays too"})
	done, err := users.Import(ctx, rows, models.ImportOptions{OnConflict: models.ConflictUpdates, DeleteMissing: true, MaxDeletes: 4})
	if want := (models.Imported{Skipped: 2, Deleted: 4, DeletedUsers: []models.DeletedUser{{ID: math.MinInt64, Email: "lowest"},
		{ID: -64, Email: "goes"}, {ID: 0, Email: "zero"}, {ID: math.MaxInt64, Email: "highest"}}}); !reflect.DeepEqual(done, want) || err != nil {
		t.Errorf("the import: %+v, %v", done, err)
	}
	for _, id := range []int64{-65, 1} {
		if _, err := users.Get(ctx, id); err != nil {
			t.Errorf("%d: %v", id, err)
		}
	}
	expectSound(t, users, 2)
}

// A stop and a client that goes away end an import also while it deletes.
func TestTheDeletionOfMissingUsersIsEndedInTheMiddle(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	fill(t, users, 10)
	over := errors.New("over")
	ended, end := context.WithCancelCause(ctx)
	end(over)
	err := users.writer.do(ctx, &write{run: func(tx *transaction) error {
		_, err := importTable{tx}.Delete(ended, []int64{1, 2, 3})
		return err
	}})
	if !errors.Is(err, over) {
		t.Errorf("the deletion ended with %v", err)
	}
	expectSound(t, users, 10)
}
