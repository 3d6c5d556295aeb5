//go:build postgres

package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"users-api/models"
	"users-api/models/batch"
	"users-api/models/storetest"
	"users-api/tests/postgresql"
)

// Two processes that store the same emails at once, each in another order, do not wait for each other in a circle.
func TestProcessesThatStoreTheSameDoNotLockEachOtherOut(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	url := server.NewDatabase(t)
	processes := []*Users{openUsers(t, url), openUsers(t, url)}
	for round := range 5 {
		all := numbered(300)
		for i := range all {
			all[i].Email = fmt.Sprint(all[i].Email, "-", round)
		}
		unlock := lock(t, url) // so that they come in large batches
		var wait sync.WaitGroup
		var created atomic.Int64
		for _, users := range processes {
			wait.Go(func() {
				_, errs := createAll(users, all...)
				for _, err := range errs {
					if failed, ok := errors.AsType[*models.StorageError](err); err == nil {
						created.Add(1)
					} else if !ok || !failed.Duplicate {
						t.Error(err)
					}
				}
			})
		}
		server.WaitUntil(t, "true", "SELECT (count(*) >= 2)::text FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
		unlock()
		wait.Wait()
		if n := created.Load(); n != int64(len(all)) {
			t.Errorf("of %d users %d were created", len(all), n)
		}
	}
	if strings.Contains(server.Log(), "deadlock detected") {
		t.Error("PostgreSQL had to end a deadlock")
	}
}

// Writers that store several emails store them in one order, so that none of them deadlock, also where an index ignores their
// case.
func TestABatchIsStoredInTheOrderOfItsEmails(t *testing.T) {
	t.Parallel()
	users := openUsers(t, postgresql.Shared(t).NewDatabase(t))
	idle := &writer{database: users.database, queries: users.writer.queries, queue: batch.NewQueue[*creation]()}
	var wait sync.WaitGroup
	for i, email := range []string{"c", "a", "b", "B"} {
		wait.Go(func() {
			id, err := idle.create(ctx, models.NewUser{Name: "n", Email: email})
			if want := []int64{4, 1, 3, 2}[i]; id != want || err != nil {
				t.Errorf("%s has the id %d, %v", email, id, err)
			}
		})
		await(t, "it is in the queue", func() bool { return len(idle.queue.Waiting()) == i+1 })
	}
	together, _ := idle.queue.Gather(<-idle.queue.Waiting(), func(*creation) bool { return false })
	idle.commitTogether(together)
	wait.Wait()
}

// lock locks the table until it is unlocked.
func lock(t *testing.T, url string) (unlock func()) {
	t.Helper()
	other := begin(t, url)
	other.do("LOCK TABLE users")
	return func() { _ = other.Close(ctx) }
}

// A write that waits too long for another program's lock is ended, and is known not to be stored.
func TestAWriteThatTakesTooLongIsNotStored(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	users := openUsers(t, url)
	id := storetest.Create(t, users, "ada")
	unlock := lock(t, url)
	start := time.Now()
	name := "Grace"
	var wait sync.WaitGroup
	for what, write := range map[string]func() error{
		"creating": func() error { _, err := users.Create(ctx, models.NewUser{Name: "n", Email: "e"}); return err },
		"changing": func() error { _, err := users.Change(ctx, id, storetest.Values("name", name), nil); return err },
		"deleting": func() error { return users.Delete(ctx, id, nil) },
	} {
		wait.Go(func() {
			err := write()
			if took := time.Since(start); !errors.Is(err, errTooLate) || took > 6*time.Second {
				t.Errorf("%s, after %s: %v", what, took, err)
			}
		})
	}
	wait.Wait()
	unlock()
	useOnce(t, users, "e") // what was ended is not stored later
	if user, err := users.Get(ctx, id); user.Name != "ada" || err != nil {
		t.Errorf("the user is %v, %v", user, err)
	}
}

// A write that has begun is done although no client waits for it any more: the end of the context is not a second outcome.
func TestAWriteWhoseClientHasGoneIsDone(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	users := openUsers(t, url)
	changed, deleted := storetest.Create(t, users, "ada"), storetest.Create(t, users, "bob")
	unlock := lock(t, url)
	client, leave := context.WithCancel(ctx)
	name := "Grace"
	var wait sync.WaitGroup
	for what, write := range map[string]func() error{
		"changing": func() error { _, err := users.Change(client, changed, storetest.Values("name", name), nil); return err },
		"deleting": func() error { return users.Delete(client, deleted, nil) },
	} {
		wait.Go(func() {
			if err := write(); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		})
	}
	awaitWaiting(t, url, "2")
	leave()
	unlock()
	wait.Wait()
	if user, err := users.Get(ctx, changed); user.Name != name || err != nil {
		t.Errorf("the changed user is %v, %v", user, err)
	}
	if user, err := users.Get(ctx, deleted); !errors.Is(err, models.ErrNotFound) {
		t.Errorf("the deleted user is %v, %v", user, err)
	}
}

// A commit that waits for a standby that has gone is in the server's log, and may not stay there.
func TestACommitThatNoStandbyConfirmsIsOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	url := server.NewDatabase(t)
	users := openUsers(t, url)
	id := storetest.Create(t, users, "ada")
	postgresql.SQL(t, url, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
	server.Reload(t)
	name := "Grace"
	allow := func(models.User) error { return nil }
	var wait sync.WaitGroup
	for what, write := range map[string]func() error{
		"creating": func() error { _, err := users.Create(ctx, models.NewUser{Name: "n", Email: "e"}); return err },
		"changing": func() error { _, err := users.Change(ctx, id, storetest.Values("name", name), allow); return err },
	} {
		wait.Go(func() {
			const text = "no standby has confirmed the commit; whether the change was stored is not known"
			failed, ok := errors.AsType[*models.StorageError](write())
			if !ok || failed.Code != "08007" || failed.Text != text {
				t.Errorf("%s: %#v", what, failed)
			}
		})
	}
	wait.Wait()
	postgresql.SQL(t, url, "ALTER SYSTEM RESET synchronous_standby_names")
	server.Reload(t)
}

// While another program holds a lock on the table that writes wait for, users are read as before.
func TestWritesThatWaitForAnothersLockHoldUpNoRead(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	users := openUsers(t, url)
	id, err := users.Create(ctx, models.NewUser{Name: "n", Email: "e"})
	if err != nil {
		t.Fatal(err)
	}
	other := begin(t, url)
	other.do("LOCK TABLE users IN EXCLUSIVE MODE")
	name := "new"
	for range 4 * poolSize {
		go users.Change(ctx, id, storetest.Values("name", name), nil) //nolint:errcheck // it fails, and holds connections
	}
	awaitWaiting(t, url, strconv.Itoa((poolSize-writers)/2))
	for range 10 {
		began := time.Now()
		if _, err := users.Get(ctx, id); err != nil || time.Since(began) > 2*time.Second {
			t.Errorf("a user is read after %s: %v", time.Since(began), err)
		}
	}
}
