package models_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"users-api/models"
)

func TestTheFeed(t *testing.T) {
	onEach(t, []test{
		{"what another program writes is recorded", feedOfOthers},
		{"a statement that writes many users is one entry", feedMany},
		{"a cursor that is not of the feed is gone", feedCursors},
		{"an import is recorded, and what is refused or tried is not", feedRefused},
		{"old entries are deleted, and cursors before them are gone", feedPruned},
		{"deletions of old entries leave those of writes beside them", feedPrunedBesideWrites},
		{"a client that starts with a list or an export at any moment misses nothing", feedFollowed},
	}, plain(), recordChanges)
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

func feedOfOthers(t *testing.T, s *storage) {
	other := s.other(t, s.at)
	run(t, other, "INSERT INTO users (name, email) VALUES ('n', 'a'), ('n', 'b')", "UPDATE users SET name = 'x'",
		"UPDATE users SET id = -id WHERE email = 'a'", "DELETE FROM users WHERE email = 'b'")
	got := strings.Split(ops(s.feed(t, "", 7)), ", ")
	for _, rows := range [][]string{got[:2], got[2:4], got[4:6]} { // the rows of a statement come in any order
		slices.Sort(rows)
	}
	if want := "created 1, created 2, changed 1, changed 2, created -1, deleted 1, deleted 2"; strings.Join(got, ", ") != want {
		t.Errorf("the entries are %v, want %s", got, want)
	}
}

func feedMany(t *testing.T, s *storage) {
	follower := s.follower(t)
	s.create(t, "before")
	run(t, s.other(t, s.at), fmt.Sprintf("INSERT INTO users (name, email) "+
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i <= %d) SELECT 'n', 'many' || i FROM n", models.MaxRecorded))
	follower.expect(t, s.everyone(t))
	last := follower.entries[len(follower.entries)-1]
	if last.Op != models.OpMany || last.ID != 0 || last.User != nil || len(follower.entries) > 3 {
		t.Errorf("the entries are %s", ops(follower.entries))
	}
	end := s.create(t, "after")
	follower.expect(t, s.everyone(t))
	if last := follower.entries[len(follower.entries)-1]; last.Op != models.OpCreated || last.ID != end {
		t.Errorf("the last entry is %+v", last)
	}
}

func feedCursors(t *testing.T, s *storage) {
	s.create(t, "ada")
	cursor := s.end(t, 1)
	foreign := s.database.open(t, plain(), recordChanges)
	foreign.create(t, "ada")
	for name, after := range map[string]string{
		"words": "garbage", "a space": " ", "a negative number": "-1", "zero": "0", "dots": "..", "quotes": "'",
		"a sign": "+" + cursor, "a leading zero": "0" + cursor, "text behind it": cursor + "x", "a NUL": cursor + "\x00",
		"a huge number": strings.Repeat("9", 40), "another database": foreign.end(t, 1), "not UTF-8": "\xff",
		"the largest number": "9223372036854775807", "the smallest number": "-9223372036854775808", "above the end": above(cursor),
	} {
		if changes, err := s.Changes(ctx, after, 10); !errors.Is(err, models.ErrCursorGone) {
			t.Errorf("%s: %v, %v", name, changes, err)
		}
	}
	if _, err := s.Changes(ctx, cursor, 10); err != nil {
		t.Errorf("its own cursor: %v", err)
	}
}

// above returns a cursor with a higher last number.
func above(cursor string) string {
	begin := strings.LastIndexFunc(cursor, func(char rune) bool { return char < '0' || char > '9' }) + 1
	var number int64
	_, _ = fmt.Sscan(cursor[begin:], &number)
	return fmt.Sprint(cursor[:begin], number+1)
}

// listCursor returns the cursor of the list.
func (s *storage) listCursor(t testing.TB) (cursor string) {
	t.Helper()
	if err := s.List(ctx, func(list models.List) error { cursor = list.Cursor; return nil }); err != nil {
		t.Fatal(err)
	}
	return cursor
}

func feedRefused(t *testing.T, s *storage) {
	one, two, gone := s.create(t, "ada"), s.create(t, "bob"), s.create(t, "eve")
	cursor := s.end(t, 3)
	refuse := func(models.User) error { return errors.New("not now") }
	_, create := s.Create(ctx, models.NewUser{Name: "n", Email: "ada"})
	_, change := s.Change(ctx, two, values(s.fields, "email", "ada"), nil)
	_, condition := s.Change(ctx, one, values(s.fields, "name", "n"), refuse)
	rows := func() []models.Values { return file("Ada:ada", "bob:bob", "n:new") }
	_, tooMany := s.Import(ctx, lines(rows()), becomes(0))
	_, repeated := s.Import(ctx, lines(file("n:newer", "n:ada")), models.ImportOptions{})
	for what, err := range map[string]error{
		"a duplicate": create, "a change to a duplicate": change, "a change with a condition": condition,
		"a deletion with a condition": s.Delete(ctx, one, refuse), "a deletion of no user": s.Delete(ctx, 99, nil),
		"an import that would delete too many": tooMany, "an import of a duplicate": repeated,
	} {
		if err == nil {
			t.Errorf("%s was not refused", what)
		}
	}
	dry := becomes(1)
	dry.DryRun = true
	for _, options := range []models.ImportOptions{dry, becomes(1)} {
		done, err := s.Import(ctx, lines(rows()), options)
		if done.Deleted != 1 || done.Updated != 1 || done.Created != 1 || err != nil {
			t.Errorf("an import: %+v, %v", done, err)
		}
	}
	created := s.ids(t, models.Query{Descending: true, Limit: 1})[0]
	got := strings.Split(ops(s.feed(t, cursor, 3)), ", ")
	slices.Sort(got)
	if want := []string{fmt.Sprint("changed ", one), fmt.Sprint("created ", created), fmt.Sprint("deleted ", gone)}; !slices.Equal(got, want) {
		t.Errorf("the entries are %v, want %v", got, want)
	}
}

func (s *storage) prune(t *testing.T, before time.Time) {
	t.Helper()
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

func feedPruned(t *testing.T, s *storage) {
	const n = 5
	begin := s.end(t, 0)
	s.prune(t, later()) // there is nothing to delete
	for i := range n {
		s.create(t, fmt.Sprint("old", i))
	}
	old := s.feed(t, "", n)
	middle := later()
	for i := range n {
		s.create(t, fmt.Sprint("new", i))
	}
	all := s.feed(t, "", 2*n)
	s.prune(t, middle.Add(-time.Hour))
	s.feed(t, begin, 2*n)
	s.prune(t, middle)
	if got := s.feed(t, "", n); ops(got) != ops(all[n:]) {
		t.Errorf("%s are left", ops(got))
	}
	for _, gone := range append([]models.Change{{Cursor: begin}}, old[:n-1]...) {
		if changes, err := s.Changes(ctx, gone.Cursor, 10); !errors.Is(err, models.ErrCursorGone) {
			t.Errorf("after %s there are %s, %v", gone.Cursor, ops(changes.Entries), err)
		}
	}
	s.feed(t, old[n-1].Cursor, n) // all that comes after it is still there
	last := all[2*n-1].Cursor
	s.prune(t, later())
	s.feed(t, last, 0)
	id := s.create(t, "after all")
	if got := ops(s.feed(t, last, 1)); got != fmt.Sprint("created ", id) {
		t.Errorf("after the newest come %s", got)
	}
}

// feedPrunedBesideWrites deletes old entries all the time, of which there are none, while many clients of two processes write.
func feedPrunedBesideWrites(t *testing.T, s *storage) {
	const writers, each = 24, 30
	processes := []*models.Users{s.Users, s.open(t, 8<<20)}
	follower := s.follower(t)
	writing, wrote := context.WithCancel(ctx)
	var writes, prunes sync.WaitGroup
	for i := range writers {
		writes.Go(func() {
			for n := range each {
				id, err := processes[i%2].Create(ctx, models.NewUser{Name: "n", Email: fmt.Sprint(i, " ", n)})
				if err == nil && n%2 == 0 {
					_, err = processes[n/2%2].Change(ctx, id, values(s.fields, "name", "changed"), nil)
				}
				if err == nil && n%3 == 0 {
					err = processes[i%2].Delete(ctx, id, nil)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, process := range processes {
		prunes.Go(func() {
			for writing.Err() == nil {
				if err := process.PruneChanges(ctx, time.Now().Add(-time.Hour)); err != nil {
					t.Error(err)
				}
				_ = process.List(ctx, func(models.List) error { return nil }) // the next is made of it and the feed
			}
		})
	}
	writes.Wait()
	wrote()
	prunes.Wait()
	want := s.everyone(t)
	follower.expect(t, want)
	for i, process := range processes {
		err := process.List(ctx, func(list models.List) error {
			text, err := join(list)
			var all []json.RawMessage
			if err = cmp.Or(err, json.Unmarshal([]byte(text), &all)); err == nil && len(all) != len(want) {
				t.Errorf("process %d lists %d users, and there are %d", i, len(all), len(want))
			}
			for _, user := range want {
				if !strings.Contains(text, string(s.fields.AppendUser(nil, &user))) {
					t.Errorf("process %d does not list %+v", i, user)
				}
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// feedFollowed writes from many clients at once, while others take exports and go on from their cursors.
func feedFollowed(t *testing.T, s *storage) {
	const writers, each = 8, 30
	early := s.follower(t)
	wrote := make(chan error, writers)
	for writer := range writers {
		go func() {
			var err error
			for i := range each {
				id, failed := s.Create(ctx, models.NewUser{Name: "n", Email: fmt.Sprint(writer, " ", i)})
				if failed == nil && i%2 == 0 {
					failed = s.rename(id, "changed")
				}
				if failed == nil && i%3 == 0 {
					failed = s.Delete(ctx, id, nil)
				}
				err = errors.Join(err, failed)
			}
			wrote <- err
		}()
	}
	followers := []*follower{early}
	for n := 0; n < writers; {
		select {
		case err := <-wrote:
			if n++; err != nil {
				t.Error(err)
			}
		default:
			if err := early.follow(1 + n); err != nil {
				t.Fatal(err)
			}
			if len(followers) < 30 {
				followers = append(followers, s.follower(t))
			}
		}
	}
	want := s.everyone(t)
	for _, f := range followers {
		f.expect(t, want)
	}
	export, _, err := exported(s.Users, models.Query{})
	if list := s.listCursor(t); list != "" { // one that is read while it is sent has none
		s.feed(t, list, 0)
	}
	id := s.create(t, "last")
	if got := ops(s.feed(t, export.Cursor, 1)); got != fmt.Sprint("created ", id) || err != nil {
		t.Errorf("after an export come %s, %v", got, err)
	}
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
	export, users, err := exported(f.Users, models.Query{})
	f.cursor, f.copy = export.Cursor, map[int64]models.User{}
	for _, user := range users {
		f.copy[user.ID] = user
	}
	return err
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
func (f *follower) expect(t interface{ Fatalf(string, ...any) }, want map[int64]models.User) {
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		err := f.follow(1000)
		if err == nil && maps.EqualFunc(f.copy, want, f.same) {
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

// everyone returns the users that are stored.
func (s *storage) everyone(t testing.TB) map[int64]models.User {
	t.Helper()
	found := map[int64]models.User{}
	for _, user := range s.selected(t, models.Query{}) {
		found[user.ID] = user
	}
	return found
}
