package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"testing"
	"time"

	"users-api/models"
	"users-api/models/storetest"
)

// lockedOut returns a database with a creation that waits for another program's lock, and how it ends.
func lockedOut(t *testing.T) (users *Users, other *sql.DB, created chan error) {
	t.Helper()
	users = openUsers(t, 0)
	other = otherProgram(t, users)
	run(t, other, "BEGIN IMMEDIATE")
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
	run(t, other, "COMMIT")
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
	if took := time.Since(began); took > busyTimeout*4/5 {
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
	if err := os.Remove(users.committer.files.wal.path); err != nil {
		t.Fatal(err)
	}
	if _, err := users.Create(ctx, models.NewUser{Name: "n", Email: "e"}); !errors.Is(err, models.ErrLost) {
		t.Errorf("creating: %v", err)
	}
	<-users.Lost()
	if err := users.Delete(ctx, 1, nil); !errors.Is(err, models.ErrLost) {
		t.Errorf("deleting: %v", err)
	}
}
