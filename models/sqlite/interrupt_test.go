package sqlite

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"strings"
	"testing"

	"users-api/models"
	"users-api/models/storetest"
)

// A search through long names takes a core and one of the few search slots: it must not outlive its request. To its end,
// each of these takes many seconds.
func TestTheEndOfAContextInterruptsASearch(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	var rows []models.NewUser
	for range 100 {
		rows = append(rows, models.NewUser{Name: strings.Repeat("a", 200_000), Email: "e" + strings.Repeat("x", len(rows))})
	}
	if _, err := users.Import(ctx, storetest.Rows(rows...), models.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	slow := models.Query{Contains: strings.Repeat("a", 999) + "b"}
	for name, search := range map[string]func(context.Context) error{
		"count": func(ctx context.Context) error { _, err := users.Count(ctx, slow); return err },
		"list":  func(ctx context.Context) error { return drain(models.Each(users.Select(ctx, slow))) },
		"export": func(ctx context.Context) error {
			return drain(storetest.Exported(ctx, users, slow))
		},
	} {
		gone, leave := context.WithCancel(ctx)
		ended := make(chan error)
		go func() { ended <- search(gone) }()
		for len(users.reader.free) == maxReaders {
			runtime.Gosched() // until it runs
		}
		leave()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: the error is %v", name, err)
		}
		for range maxReaders { // each in turn
			if user, err := users.Get(ctx, 1); err != nil || user.ID != 1 {
				t.Errorf("%s: afterwards a user cannot be read: %v", name, err)
			}
		}
		for range maxReaders {
			conn := <-users.reader.free
			if users.reader.free <- conn; conn.InTransaction() {
				t.Errorf("%s: a transaction was left open", name)
			}
		}
	}
}

func drain(users iter.Seq2[models.User, error]) error {
	for _, err := range users {
		if err != nil {
			return err
		}
	}
	return nil
}

// Close waits for the list that is being read, and no longer than it may.
func TestTheEndOfAStopInterruptsTheReadingOfTheList(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	source := watch(users)
	fill(t, users, pageUsers+1)
	stop, cancel := context.WithCancel(ctx)
	closed := make(chan error, 1)
	source.reading = func() {
		go func() { closed <- users.Close(stop) }()
		cancel()
		for err := error(nil); err == nil; _, err = users.source.conn.DataVersion() { // until it is interrupted
			runtime.Gosched()
		}
	}
	err := users.List(ctx, func(models.List) error { return nil })
	if !errors.Is(err, models.ErrClosed) {
		t.Errorf("the error is %v", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// A count without q looks at every user as well, so that it takes a search slot: counts must leave connections for others.
func TestCountsLeaveRoomForOthers(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	id := storetest.Create(t, users, "ada")
	if err := users.reader.searching.Acquire(ctx, maxSearches()); err != nil {
		t.Fatal(err)
	}
	gone, leave := context.WithCancel(ctx)
	counted := make(chan error)
	go func() { _, err := users.Count(gone, models.Query{}); counted <- err }()
	email := "ada"
	if n, err := users.Count(ctx, models.Query{Equal: storetest.Values("email", email)}); n != 1 || err != nil {
		t.Errorf("%d users have the email, %v", n, err) // the index finds it
	}
	if _, err := users.Get(ctx, id); err != nil {
		t.Error(err)
	}
	leave()
	if err := <-counted; !errors.Is(err, context.Canceled) {
		t.Errorf("a count without a search slot ended with %v", err)
	}
}
