package database_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"users-api/database"
	"users-api/models"
)

func TestTheFeed(t *testing.T) {
	onEach(t, []test{
		{"a statement that writes many users is one entry", feedMany},
		{"a cursor is gone that is not of the feed, or of what was deleted", feedCursors},
	}, plain(), database.Location.RecordChanges, database.Location.ForgetChanges, database.Location.RecordChanges)
}

// feed returns the n entries after a cursor, and fails if there are others.
func (s *storage) feed(t testing.TB, after string, n int) []models.Change {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		changes, err := s.Changes(ctx, after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if len(changes.Entries) >= n || !s.delayed || time.Now().After(deadline) {
			if len(changes.Entries) != n {
				t.Fatalf("after %q there are %d entries, want %d: %s", after, len(changes.Entries), n, ops(changes.Entries))
			}
			return changes.Entries
		}
	}
}

// end returns where the feed ends, once it has n entries.
func (s *storage) end(t testing.TB, n int) string {
	t.Helper()
	s.feed(t, "", n)
	cursor, err := s.Cursor(ctx)
	if err != nil || cursor == "" {
		t.Fatalf("the cursor is %q, %v", cursor, err)
	}
	return cursor
}

// ops are entries in short: their ops and ids.
func ops(changes []models.Change) string {
	var shown []string
	for _, change := range changes {
		shown = append(shown, fmt.Sprint(change.Op, " ", change.ID))
	}
	return strings.Join(shown, ", ")
}

func feedMany(t *testing.T, s *storage) {
	follower := s.follower(t)
	s.create(t, "before")
	run(t, s.other(t, s.at), fmt.Sprintf(fill, database.MaxRecorded+1))
	follower.expect(t, selected(t, s.Users, models.Query{}))
	last := follower.entries[len(follower.entries)-1]
	if last.Op != models.OpMany || last.ID != 0 || last.User != nil || len(follower.entries) > 3 {
		t.Errorf("the entries are %s", ops(follower.entries))
	}
	end := s.create(t, "after")
	follower.expect(t, selected(t, s.Users, models.Query{}))
	if last := follower.entries[len(follower.entries)-1]; last.Op != models.OpCreated || last.ID != end {
		t.Errorf("the last entry is %+v", last)
	}
}

// Clients may have any cursor, such as one from before the oldest entries were deleted.
func feedCursors(t *testing.T, s *storage) {
	begin := s.end(t, 0)
	for _, email := range []string{"a", "b", "c"} {
		s.create(t, email)
	}
	old := s.feed(t, begin, 3)
	middle := later()
	s.create(t, "d")
	s.prune(t, middle.Add(-time.Hour))
	s.feed(t, begin, 4)
	s.prune(t, middle)
	cursor := s.end(t, 1)
	s.feed(t, old[2].Cursor, 1) // all that comes after it is still there
	foreign := s.engine.open(t, plain(), database.Location.RecordChanges)
	foreign.create(t, "a")
	number := strings.LastIndexFunc(cursor, func(char rune) bool { return char < '0' || char > '9' }) + 1
	last, err := strconv.Atoi(cursor[number:])
	if err != nil {
		t.Fatal(err)
	}
	for name, after := range map[string]string{
		"before what was deleted": begin, "of what was deleted": old[1].Cursor,
		"above the end": fmt.Sprint(cursor[:number], last+1), "of another database": foreign.end(t, 1),
		"words": "garbage", "zero": "0", "with a sign": "+" + cursor, "with a leading zero": "0" + cursor,
		"with text behind it": cursor + "x",
	} {
		if changes, err := s.Changes(ctx, after, 10); !errors.Is(err, models.ErrCursorGone) {
			t.Errorf("after the cursor %s, %q, there are %s, %v", name, after, ops(changes.Entries), err)
		}
	}
}

func (s *storage) prune(t rapid.TB, before time.Time) {
	if err := s.PruneChanges(ctx, before); err != nil {
		t.Fatal(err)
	}
}

// later returns a time that is certainly after all that was written, and before all that will be.
func later() time.Time {
	time.Sleep(5 * time.Millisecond) // entries have times in milliseconds
	defer time.Sleep(5 * time.Millisecond)
	return time.Now()
}

// A follower keeps a copy of the users, as a client does: it begins with an export, and goes on with the feed.
type follower struct {
	*storage
	cursor  string
	copy    map[int64]models.User
	seen    map[string]bool // the cursors of the entries
	entries []models.Change // that came
}

// follower returns one that has exported all users.
func (s *storage) follower(t testing.TB) *follower {
	t.Helper()
	f := &follower{storage: s, seen: map[string]bool{}}
	if err := f.export(); err != nil || f.cursor == "" {
		t.Fatalf("an export with the cursor %q: %v", f.cursor, err)
	}
	return f
}

// export begins with a new copy.
func (f *follower) export() error {
	f.copy = map[int64]models.User{}
	return f.Export(ctx, models.Query{}, func(export database.Export) error {
		f.cursor = export.Cursor
		for user, err := range export.Users {
			if err != nil {
				return err
			}
			f.copy[user.ID] = *user
		}
		return nil
	})
}

// follow reads the feed to where it ends now, at most limit entries at a time. No entry may come twice.
func (f *follower) follow(limit int) error {
	for {
		changes, err := f.Changes(ctx, f.cursor, limit)
		if err != nil || len(changes.Entries) == 0 {
			return err
		}
		if last := changes.Entries[len(changes.Entries)-1].Cursor; changes.Next != last || len(changes.Entries) > limit {
			return fmt.Errorf("next is %q after %q, and there are %d entries", changes.Next, last, len(changes.Entries))
		}
		f.cursor = changes.Next
		for _, change := range changes.Entries {
			if f.seen[change.Cursor] {
				return fmt.Errorf("%q came twice", change.Cursor)
			}
			f.seen[change.Cursor] = true
			switch f.entries = append(f.entries, change); {
			case change.Op == models.OpMany:
				if err := f.export(); err != nil {
					return err
				}
			case change.User == nil:
				delete(f.copy, change.ID)
			default:
				f.copy[change.ID] = *change.User
			}
		}
	}
}

// expect follows the feed until the copy is what it should be. It waits for that only where the feed may be delayed.
func (f *follower) expect(t rapid.TB, want []models.User) {
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		err := f.follow(1000)
		if err == nil && slices.EqualFunc(sorted(f.copy), want, f.same) {
			return
		}
		if err == nil && f.delayed {
			err = f.AwaitChanges(limited, f.cursor)
		}
		if err != nil || !f.delayed {
			t.Fatalf("the copy is\n%.2000s\nwant\n%.2000s: %v", fmt.Sprint(f.copy), fmt.Sprint(want), err)
		}
	}
}
