package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"users-api/models"
)

func changed(t *testing.T, users models.Users) {
	id := Create(t, users, "ada@example.org")
	before, _ := users.Get(ctx, id)
	name, email := "Ada", "countess@example.org"
	for _, change := range []models.Values{
		{}, Values("name", name), Values("email", email), Values("name", email, "email", name),
	} {
		want := before
		for field := range Fields().In(change.Fields) {
			field.Set(&want.NewUser, *field.Value(&change.User))
		}
		if got, err := users.Change(ctx, id, change, nil); !Same(got, want) || err != nil {
			t.Errorf("the change returned %v, %v, want %v", got, err, want)
		}
		if got, err := users.Get(ctx, id); !Same(got, want) || err != nil {
			t.Errorf("the user is %v, %v, want %v", got, err, want)
		}
		before = want
	}
}

func changedToDuplicate(t *testing.T, users models.Users) {
	Create(t, users, "ada@example.org")
	id := Create(t, users, "alan@example.org")
	before, _ := Text(t, users)
	email := "ada@example.org"
	_, err := users.Change(ctx, id, Values("name", email, "email", email), nil)
	expectDuplicate(t, err)
	if after, _ := Text(t, users); after != before {
		t.Errorf("the list was %s and is %s", before, after)
	}
}

func deleted(t *testing.T, users models.Users) {
	Create(t, users, "ada@example.org")
	id := Create(t, users, "alan@example.org")
	if err := users.Delete(ctx, id, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := users.Get(ctx, id); !errors.Is(err, models.ErrNotFound) {
		t.Errorf("getting it: %v", err)
	}
	if next := Create(t, users, "alan@example.org"); next <= id {
		t.Errorf("the next user has the id %d after %d", next, id)
	}
}

func neverCreated(t *testing.T, users models.Users) {
	Create(t, users, "ada@example.org")
	never := func(models.User) error { return errors.New("was asked although there is no user") }
	name := "n"
	for _, id := range []int64{0, -1, 2, 1<<63 - 1, -1 << 63} {
		_, got := users.Get(ctx, id)
		_, changed := users.Change(ctx, id, Values("name", name), never)
		for _, err := range []error{got, changed, users.Delete(ctx, id, nil), users.Delete(ctx, id, never)} {
			if !errors.Is(err, models.ErrNotFound) {
				t.Errorf("%d: %v", id, err)
			}
		}
	}
}

func conditions(t *testing.T, users models.Users) {
	id := Create(t, users, "ada@example.org")
	before, _ := users.Get(ctx, id)
	refusal := errors.New("not now")
	refuse := func(user models.User) error {
		if !Same(user, before) {
			t.Errorf("the condition sees %v, want %v", user, before)
		}
		return refusal
	}
	name := "changed"
	if _, err := users.Change(ctx, id, Values("name", name), refuse); !errors.Is(err, refusal) {
		t.Errorf("changing: %v", err)
	}
	if err := users.Delete(ctx, id, refuse); !errors.Is(err, refusal) {
		t.Errorf("deleting: %v", err)
	}
	if user, err := users.Get(ctx, id); !Same(user, before) || err != nil {
		t.Errorf("the user is %v, %v", user, err)
	}
	allow := func(models.User) error { return nil }
	if user, err := users.Change(ctx, id, Values("name", name), allow); user.Name != name || err != nil {
		t.Errorf("an allowed change returned %v, %v", user, err)
	}
	if err := users.Delete(ctx, id, allow); err != nil {
		t.Errorf("an allowed deletion: %v", err)
	}
}

// lostUpdates lets clients add one to the number in a name, each only when no other client has meanwhile.
func lostUpdates(t *testing.T, users models.Users) {
	const clients, times = 8, 25
	id, err := users.Create(ctx, models.NewUser{Name: "0", Email: "counter"})
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for range clients {
		wait.Go(func() {
			for range times {
				for addOne(t, users, id) {
				}
			}
		})
	}
	wait.Wait()
	if user, err := users.Get(ctx, id); user.Name != fmt.Sprint(clients*times) || err != nil {
		t.Errorf("%d additions made %v, %v", clients*times, user, err)
	}
}

// addOne reports whether it must be tried again.
func addOne(t *testing.T, users models.Users, id int64) (again bool) {
	seen, err := users.Get(ctx, id)
	if err != nil {
		t.Error(err)
		return false
	}
	var number int
	_, _ = fmt.Sscan(seen.Name, &number)
	next := fmt.Sprint(number + 1)
	meanwhile := errors.New("changed meanwhile")
	_, err = users.Change(ctx, id, Values("name", next), func(now models.User) error {
		if !Same(now, seen) {
			return meanwhile
		}
		return nil
	})
	if err != nil && !errors.Is(err, meanwhile) {
		t.Error(err)
		return false
	}
	return err != nil
}

func refusedAlone(t *testing.T, users models.Users) {
	Create(t, users, "7")
	var wait sync.WaitGroup
	errs := make([]error, 100)
	for i := range errs {
		wait.Go(func() { _, errs[i] = users.Create(ctx, models.NewUser{Name: "n", Email: fmt.Sprint(i)}) })
	}
	wait.Wait()
	for i, err := range errs {
		if (err != nil) != (i == 7) {
			t.Errorf("creation %d: %v", i, err)
		}
	}
	if n, err := users.Count(ctx, models.Query{}); n != 100 || err != nil {
		t.Errorf("there are %d users, %v", n, err)
	}
}
