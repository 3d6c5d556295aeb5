package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"users-api/models"
)

// A Follower keeps a copy of the users, as a client does: it begins with an export, and goes on with the feed.
type Follower struct {
	users  models.Users
	cursor string
	copy   map[int64]models.User
	seen   map[string]bool // the cursors of the entries

	Entries []models.Change // that came
}

// Follow returns a follower that has exported all users.
func Follow(t testing.TB, users models.Users) *Follower {
	t.Helper()
	f := newFollower(users)
	if err := f.export(); err != nil || f.cursor == "" {
		t.Fatalf("an export with the cursor %q: %v", f.cursor, err)
	}
	return f
}

// ExpectAll expects that the feed makes the copy what is stored.
func (f *Follower) ExpectAll(t testing.TB) {
	t.Helper()
	if err := f.expect(everyUser(t, f.users), 1000, false); err != nil {
		t.Error(err)
	}
}

func newFollower(users models.Users) *Follower {
	return &Follower{users: users, seen: map[string]bool{}}
}

// Next reads the feed to where it ends now.
func (f *Follower) Next() error { return f.follow(1000) }

// export begins with a new copy.
func (f *Follower) export() error {
	f.copy = map[int64]models.User{}
	return f.users.Export(ctx, models.Query{}, func(export models.Export) error {
		f.cursor = export.Cursor
		for user, err := range export.Users {
			if err != nil {
				return err
			}
			f.copy[user.ID] = user
		}
		return nil
	})
}

// follow reads the feed to where it ends now, at most limit entries at a time. No entry may come twice.
func (f *Follower) follow(limit int) error {
	for {
		changes, err := f.users.Changes(ctx, f.cursor, limit)
		if err != nil || len(changes.Entries) == 0 {
			return err
		}
		if len(changes.Entries) > limit {
			return fmt.Errorf("%d entries are more than %d", len(changes.Entries), limit)
		}
		if last := changes.Entries[len(changes.Entries)-1].Cursor; changes.Next != last {
			return fmt.Errorf("next is %q after %q", changes.Next, last)
		}
		f.cursor = changes.Next
		for _, change := range changes.Entries {
			if err := f.apply(change); err != nil {
				return err
			}
		}
	}
}

func (f *Follower) apply(change models.Change) error {
	if f.seen[change.Cursor] {
		return fmt.Errorf("%q came twice", change.Cursor)
	}
	f.seen[change.Cursor] = true
	f.Entries = append(f.Entries, change)
	switch {
	case change.Op == models.OpMany:
		return f.export()
	case change.User == nil:
		delete(f.copy, change.ID)
	default:
		f.copy[change.ID] = *change.User
	}
	return nil
}

// expect follows the feed until the copy is what it should be. It waits for that only where the feed may be delayed.
func (f *Follower) expect(want map[int64]models.User, limit int, delayed bool) error {
	limited, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		if err := f.follow(limit); err != nil {
			return err
		}
		if maps.EqualFunc(f.copy, want, Same) {
			return nil
		}
		if !delayed {
			return fmt.Errorf("the copy is\n%.2000v\nwant\n%.2000v", f.copy, want)
		}
		if err := f.users.AwaitChanges(limited, f.cursor); err != nil {
			return errors.Join(err, fmt.Errorf("the copy is\n%.2000v\nwant\n%.2000v", f.copy, want))
		}
	}
}

// everyUser returns the users that are stored.
func everyUser(t testing.TB, users models.Users) map[int64]models.User {
	t.Helper()
	found := map[int64]models.User{}
	for user, err := range models.Each(users.Select(ctx, models.Query{})) {
		if err != nil {
			t.Fatal(err)
		}
		found[user.ID] = user
	}
	return found
}
