//go:build postgres

package postgres

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"users-api/models"
	"users-api/models/storetest"
	"users-api/tests/postgresql"
)

// soon is how long a read may take that cannot be answered: 5 s, on a machine that is not busy.
const soon = 15 * time.Second

// expectSoon expects that a read is ended because the server did not answer in time.
func expectSoon(t *testing.T, what string, read func(context.Context) error) {
	t.Helper()
	limited, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	err := read(limited)
	if failed, ok := errors.AsType[*models.StorageError](err); !ok || failed.Text != "the PostgreSQL server did not answer in time" {
		t.Errorf("%s is ended with %v", what, err)
	}
}

// slowReads are reads that may take long where nothing is in their way.
func slowReads(users *Users) map[string]func(context.Context) error {
	selected := func(query models.Query) func(context.Context) error {
		return func(ctx context.Context) error {
			for _, err := range users.Select(ctx, query) {
				return err
			}
			return nil
		}
	}
	exported := func(query models.Query) func(context.Context) error {
		return func(ctx context.Context) error {
			return users.Export(ctx, query, func(models.Export) error { return nil })
		}
	}
	return map[string]func(context.Context) error{
		"the list":                  func(ctx context.Context) error { return users.List(ctx, func(models.List) error { return nil }) },
		"a search":                  selected(models.Query{Contains: "ada"}),
		"an export":                 exported(models.Query{}),
		"an export of some":         exported(models.Query{Contains: "ada"}),
		"the number of those found": func(ctx context.Context) error { _, err := users.Count(ctx, models.Query{Contains: "ada"}); return err },
	}
}

func TestAReadWaitsForALockNoLongerThanAnyOther(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	users := openUsers(t, url)
	storetest.Create(t, users, "ada")
	unlock := lock(t, url)
	defer unlock()
	for what, read := range slowReads(users) {
		expectSoon(t, what, read)
	}
}

func TestAPausedServerHoldsNoReadForLong(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	users := openUsers(t, server.NewDatabase(t))
	storetest.Create(t, users, "ada")
	server.Pause(t)
	defer server.Resume(t)
	for what, read := range slowReads(users) {
		expectSoon(t, what, read)
	}
}

// A list does not wait for the searches, and a search that waits for its turn does not get more time for it.
func TestSearchesHoldUpNoList(t *testing.T) {
	t.Parallel()
	users := openUsers(t, postgresql.Shared(t).NewDatabase(t))
	storetest.Create(t, users, "ada")
	for users.database.searching.TryAcquire(1) {
	}
	if text, _ := storetest.Text(t, users); text == "[]" {
		t.Error("the list is empty")
	}
	brief := use{limit: 10 * time.Millisecond, searches: true}
	err := users.reader.on(ctx, brief, func(context.Context, connection) error { return nil })
	if !errors.Is(err, errBusy) {
		t.Errorf("the search is ended with %v", err)
	}
}

// However many changes, searches and imports there are, a connection is left for brief reads.
func TestAConnectionIsKeptForBriefReads(t *testing.T) {
	t.Parallel()
	users := openUsers(t, postgresql.Shared(t).NewDatabase(t)+"?pool_max_conns=4")
	id := storetest.Create(t, users, "ada")
	done, cancel := context.WithCancel(ctx)
	var wait sync.WaitGroup
	for _, wanted := range []use{bulk, search, export, write, write, search, bulk} {
		wait.Go(func() {
			_ = users.database.on(ctx, wanted, func(context.Context, connection) error { <-done.Done(); return nil })
		})
	}
	for !isTaken(users.database.slow) {
		time.Sleep(time.Millisecond)
	}
	for range 3 {
		if _, err := users.Get(ctx, id); err != nil {
			t.Error(err)
		}
		if text, _ := storetest.Text(t, users); text == "[]" {
			t.Error("the list is empty")
		}
	}
	cancel()
	wait.Wait()
}
