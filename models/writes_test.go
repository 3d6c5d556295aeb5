package models_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"users-api/models"
)

func TestWrites(t *testing.T) {
	onEach(t, []test{
		{"a user is there as it was created, with an id and a time", created},
		{"a duplicate email is refused and leaves no trace", duplicate},
		{"a change changes the fields that are set, and nothing else", changed},
		{"a deleted user is gone, and its id is not given again", deleted},
		{"no user has an id that was never given", neverCreated},
		{"a condition sees the user as it is, and its refusal leaves no trace", conditions},
		{"of many changes with conditions at once none is lost", lostUpdates},
		{"one refusal among many writes at once refuses no other", refusedAlone},
		{"what is closed says so", closed},
		{"a context that has ended ends the wait", cancelled},
	}, plain())
}

func created(t *testing.T, s *storage) {
	id := s.create(t, "ada@example.org")
	user, err := s.Get(ctx, id)
	if err != nil || user.ID != id || user.Name != "ada@example.org" || user.Email != "ada@example.org" {
		t.Errorf("got %v, %v", user, err)
	}
	if models.ShownTime(user.CreatedAt) != user.CreatedAt || len(user.CreatedAt) != len("2006-01-02 15:04:05") {
		t.Errorf("it was created at %q", user.CreatedAt)
	}
	if text, _ := s.list(t); text != "["+string(s.fields.AppendUser(nil, &user))+"]" {
		t.Errorf("the list is %s", text)
	}
}

func duplicate(t *testing.T, s *storage) {
	s.create(t, "ada@example.org")
	id := s.create(t, "alan@example.org")
	s.expectSame(t, func() {
		_, err := s.Create(ctx, models.NewUser{Name: "Other", Email: "ada@example.org"})
		expectDuplicate(t, "a creation", err)
		_, err = s.Change(ctx, id, values(s.fields, "name", "Other", "email", "ada@example.org"), nil)
		expectDuplicate(t, "a change", err)
	})
}

func changed(t *testing.T, s *storage) {
	id := s.create(t, "ada@example.org")
	want, _ := s.Get(ctx, id)
	for _, change := range []models.Values{
		{}, values(s.fields, "name", "Ada"), values(s.fields, "email", "countess"), values(s.fields, "name", "n", "email", "e"),
	} {
		want.NewUser = with(s.fields, want.NewUser, change)
		if got, err := s.Change(ctx, id, change, nil); !s.same(got, want) || err != nil {
			t.Errorf("the change returned %v, %v, want %v", got, err, want)
		}
		if got, err := s.Get(ctx, id); !s.same(got, want) || err != nil {
			t.Errorf("the user is %v, %v, want %v", got, err, want)
		}
	}
}

func deleted(t *testing.T, s *storage) {
	s.create(t, "ada@example.org")
	id := s.create(t, "alan@example.org")
	if err := s.Delete(ctx, id, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(ctx, id); !errors.Is(err, models.ErrNotFound) {
		t.Errorf("getting it: %v", err)
	}
	if next := s.create(t, "alan@example.org"); next <= id {
		t.Errorf("the next user has the id %d after %d", next, id)
	}
}

func neverCreated(t *testing.T, s *storage) {
	s.create(t, "ada@example.org")
	never := func(models.User) error { return errors.New("was asked although there is no user") }
	for _, id := range []int64{0, -1, 2, 1<<63 - 1, -1 << 63} {
		_, got := s.Get(ctx, id)
		_, changed := s.Change(ctx, id, values(s.fields, "name", "n"), never)
		for _, err := range []error{got, changed, s.Delete(ctx, id, nil), s.Delete(ctx, id, never)} {
			if !errors.Is(err, models.ErrNotFound) {
				t.Errorf("%d: %v", id, err)
			}
		}
	}
}

func conditions(t *testing.T, s *storage) {
	id := s.create(t, "ada@example.org")
	before, _ := s.Get(ctx, id)
	no := errors.New("not now")
	refuse := func(user models.User) error {
		if !s.same(user, before) {
			t.Errorf("the condition sees %v, want %v", user, before)
		}
		return no
	}
	change := values(s.fields, "name", "changed")
	s.expectSame(t, func() {
		if _, err := s.Change(ctx, id, change, refuse); !errors.Is(err, no) {
			t.Errorf("changing: %v", err)
		}
		if err := s.Delete(ctx, id, refuse); !errors.Is(err, no) {
			t.Errorf("deleting: %v", err)
		}
	})
	allow := func(models.User) error { return nil }
	if user, err := s.Change(ctx, id, change, allow); user.Name != "changed" || err != nil {
		t.Errorf("an allowed change returned %v, %v", user, err)
	}
	if err := s.Delete(ctx, id, allow); err != nil {
		t.Errorf("an allowed deletion: %v", err)
	}
}

// lostUpdates lets clients add one to the number in a name, each only when no other client has meanwhile.
func lostUpdates(t *testing.T, s *storage) {
	const clients, times = 8, 10
	id, err := s.Create(ctx, models.NewUser{Name: "0", Email: "counter"})
	if err != nil {
		t.Fatal(err)
	}
	meanwhile := errors.New("changed meanwhile")
	addOne := func() error {
		seen, err := s.Get(ctx, id)
		if err != nil {
			return err
		}
		var number int
		_, _ = fmt.Sscan(seen.Name, &number)
		_, err = s.Change(ctx, id, values(s.fields, "name", fmt.Sprint(number+1)), func(now models.User) error {
			if !s.same(now, seen) {
				return meanwhile
			}
			return nil
		})
		return err
	}
	var wait sync.WaitGroup
	for range clients {
		wait.Go(func() {
			for range times {
				err := meanwhile
				for errors.Is(err, meanwhile) {
					err = addOne()
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	if user, err := s.Get(ctx, id); user.Name != fmt.Sprint(clients*times) || err != nil {
		t.Errorf("%d additions made %v, %v", clients*times, user, err)
	}
}

func refusedAlone(t *testing.T, s *storage) {
	s.create(t, "7")
	gone := s.create(t, "gone")
	var wait sync.WaitGroup
	errs := make([]error, 100)
	for i := range errs {
		wait.Go(func() {
			if _, errs[i] = s.Create(ctx, models.NewUser{Name: "n", Email: fmt.Sprint(i)}); i%20 == 0 {
				errs[i] = errors.Join(errs[i], s.rename(gone, "n"))
			}
		})
	}
	wait.Wait()
	for i, err := range errs {
		if (err != nil) != (i == 7) {
			t.Errorf("creation %d: %v", i, err)
		}
	}
	if n, err := s.Count(ctx, models.Query{}); n != 101 || err != nil {
		t.Errorf("there are %d users, %v", n, err)
	}
}

func closed(t *testing.T, s *storage) {
	id := s.create(t, "ada@example.org")
	if err := errors.Join(s.Close(ctx), s.Close(ctx)); err != nil {
		t.Fatal(err)
	}
	_, create := s.Create(ctx, models.NewUser{Name: "n", Email: "e"})
	_, get := s.Get(ctx, id)
	_, change := s.Change(ctx, id, models.Values{}, nil)
	_, count := s.Count(ctx, models.Query{})
	_, imported := s.Import(ctx, lines(file("n:e")), models.ImportOptions{})
	_, _, export := exported(s.Users, models.Query{})
	_, changes := s.Changes(ctx, "", 1)
	var selected error
	for _, err := range s.Select(ctx, models.Query{}) {
		selected = err
	}
	for name, err := range map[string]error{
		"creating": create, "getting": get, "changing": change, "counting": count, "importing": imported, "exporting": export,
		"deleting": s.Delete(ctx, id, nil), "listing": s.List(ctx, func(models.List) error { return nil }),
		"selecting": selected, "following": changes,
	} {
		if !errors.Is(err, models.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.Page(ctx, models.Query{Limit: 1}); err != nil && !errors.Is(err, models.ErrClosed) {
		t.Errorf("a page: %v", err) // without a list in memory, storage says that it is closed
	}
}

func cancelled(t *testing.T, s *storage) {
	s.create(t, "ada@example.org")
	gone, cancel := context.WithCancel(ctx)
	cancel()
	for range 20 { // it is not left to chance
		_, create := s.Create(gone, models.NewUser{Name: "n", Email: "e"})
		_, count := s.Count(gone, models.Query{Contains: "a"})
		_, imported := s.Import(gone, lines(file("n:e")), models.ImportOptions{})
		for name, err := range map[string]error{"creating": create, "counting": count, "importing": imported} {
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("%s: %v", name, err)
			}
		}
		for _, err := range s.Select(gone, models.Query{Contains: "a"}) {
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("selecting: %v", err)
			}
		}
	}
	if stored := s.stored(t); len(stored) != 1 {
		t.Errorf("stored are %v", stored)
	}
}
