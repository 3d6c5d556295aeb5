package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"users-api/models"
)

// A Feed is how the tests switch the feed of changes of an engine on and off, as "users-api changes" does.
type Feed struct {
	Switch func(t testing.TB, users models.Users, on bool)
	// Delayed: the feed shows a commit only once all transactions that are older have ended.
	Delayed bool
}

// withFeed are what the tests of the feed share: an engine that records changes.
type withFeed struct {
	Feed
	users models.Users
	open  func(testing.TB) models.Users // another one, which records changes too
}

var feedSuite = []struct {
	name string
	run  func(withFeed, *testing.T)
}{
	{"an entry says what was done to whom, in the order of the commits", withFeed.entries},
	{"an entry has the user as it is now", withFeed.usersNow},
	{"entries come in portions that follow each other", withFeed.portions},
	{"a response has about 1 MiB of users", withFeed.sizes},
	{"a cursor that is not of the feed is gone", withFeed.cursors},
	{"changes are not recorded before the feed is on, nor when it is off", withFeed.switched},
	{"the cursor of a list and of an export is where their users end", withFeed.snapshots},
	{"an import is recorded, and a dry run is not", withFeed.imports},
	{"a refused write is not recorded", withFeed.refused},
	{"old entries are deleted, and cursors before them are gone", withFeed.pruned},
	{"a client that waits hears of the next change", withFeed.awaited},
	{"no change is missed, however many write at once", withFeed.together},
}

func runFeed(t *testing.T, open Open, feed Feed) {
	openOn := func(t testing.TB) models.Users {
		users := open(t, Fields())
		feed.Switch(t, users, true)
		return users
	}
	for _, test := range feedSuite {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(withFeed{feed, openOn(t), openOn}, t)
		})
	}
}

// read returns the n entries after a cursor, and fails if there are others.
func (w withFeed) read(t *testing.T, after string, n int) []models.Change {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		changes, err := w.users.Changes(ctx, after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if len(changes.Entries) >= n || !w.Delayed || time.Now().After(deadline) {
			if len(changes.Entries) != n {
				t.Fatalf("after %q there are %d entries, want %d: %s", after, len(changes.Entries), n, ShownChanges(changes.Entries))
			}
			return changes.Entries
		}
		time.Sleep(time.Millisecond)
	}
}

// cursor returns where the feed ends, once it has n entries.
func (w withFeed) cursor(t *testing.T, n int) string {
	t.Helper()
	w.read(t, "", n)
	cursor, err := w.users.Cursor(ctx)
	if err != nil || cursor == "" {
		t.Fatalf("the cursor is %q, %v", cursor, err)
	}
	return cursor
}

// ShownChanges are entries in short: their ops and ids.
func ShownChanges(changes []models.Change) string {
	var shown []string
	for _, change := range changes {
		shown = append(shown, fmt.Sprint(change.Op, " ", change.ID))
	}
	return strings.Join(shown, ", ")
}

func (w withFeed) entries(t *testing.T) {
	if w.read(t, "", 0); t.Failed() {
		return
	}
	ada, bob := Create(t, w.users, "ada"), Create(t, w.users, "bob")
	_, err := w.users.Change(ctx, bob, Values("name", "Bob"), nil)
	if err := errors.Join(err, w.users.Delete(ctx, ada, nil)); err != nil {
		t.Fatal(err)
	}
	changes := w.read(t, "", 4)
	want := fmt.Sprintf("created %d, created %d, changed %d, deleted %d", ada, bob, bob, ada)
	if got := ShownChanges(changes); got != want {
		t.Errorf("the entries are %s, want %s", got, want)
	}
	for _, change := range changes {
		at, err := time.Parse(time.DateTime, change.At)
		if err != nil || time.Since(at) > time.Hour || time.Since(at) < -time.Minute {
			t.Errorf("an entry is of %q", change.At)
		}
		if (change.User == nil) != (change.ID == ada) {
			t.Errorf("%s %d has the user %v", change.Op, change.ID, change.User)
		}
	}
}

func (w withFeed) usersNow(t *testing.T) {
	id := Create(t, w.users, "ada")
	want, err := w.users.Change(ctx, id, Values("name", "Ada", "email", "countess"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range w.read(t, "", 2) {
		if change.User == nil || !Same(*change.User, want) {
			t.Errorf("%s has %v, want %v", change.Op, change.User, want)
		}
	}
}

func (w withFeed) portions(t *testing.T) {
	const n = 10
	for i := range n {
		Create(t, w.users, fmt.Sprint(i))
	}
	all := w.read(t, "", n)
	var after string
	for _, limit := range []int{1, 3, n - 1, n, n + 1} {
		var got []models.Change
		after = ""
		for len(got) < n {
			changes, err := w.users.Changes(ctx, after, limit)
			if err != nil || len(changes.Entries) != min(limit, n-len(got)) {
				t.Fatalf("with the limit %d: %d entries after %d, %v", limit, len(changes.Entries), len(got), err)
			}
			got, after = append(got, changes.Entries...), changes.Next
		}
		if ShownChanges(got) != ShownChanges(all) || after != all[n-1].Cursor {
			t.Errorf("with the limit %d: %s, next %s, want %s", limit, ShownChanges(got), after, ShownChanges(all))
		}
	}
	nothing, err := w.users.Changes(ctx, after, 1)
	if err != nil || len(nothing.Entries) > 0 {
		t.Errorf("after the last: %v, %v", nothing, err)
	}
	later := Create(t, w.users, "later") // the next of an empty response is a place in the feed
	if got := ShownChanges(w.read(t, nothing.Next, 1)); got != fmt.Sprint("created ", later) {
		t.Errorf("after an empty response: %s", got)
	}
}

func (w withFeed) sizes(t *testing.T) {
	const n, size = 10, 300 << 10
	for i := range n {
		if _, err := w.users.Create(ctx, models.NewUser{Name: strings.Repeat("n", size), Email: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	for after, seen := "", 0; seen < n; {
		changes, err := w.users.Changes(ctx, after, 1000)
		if err != nil || len(changes.Entries) > 5 || len(changes.Entries) == 0 && !w.Delayed {
			t.Fatalf("%d entries after %d, %v", len(changes.Entries), seen, err)
		}
		after, seen = changes.Next, seen+len(changes.Entries)
	}
}

func (w withFeed) cursors(t *testing.T) {
	Create(t, w.users, "ada")
	cursor := w.cursor(t, 1)
	other := withFeed{w.Feed, w.open(t), w.open}
	Create(t, other.users, "ada")
	foreign := other.cursor(t, 1)
	for name, after := range map[string]string{
		"words": "garbage", "a space": " ", "a negative number": "-1", "zero": "0", "dots": "..", "quotes": "'",
		"a sign": "+" + cursor, "a leading zero": "0" + cursor, "text behind it": cursor + "x", "a NUL": cursor + "\x00",
		"a huge number": strings.Repeat("9", 40), "another database": foreign, "not UTF-8": "\xff",
		"the largest number": "9223372036854775807", "the smallest number": "-9223372036854775808",
	} {
		if _, err := w.users.Changes(ctx, after, 10); !errors.Is(err, models.ErrCursorGone) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := w.users.Changes(ctx, cursor, 10); err != nil {
		t.Errorf("its own cursor: %v", err)
	}
}

func (w withFeed) switched(t *testing.T) {
	Create(t, w.users, "before")
	cursor := w.cursor(t, 1)
	w.Switch(t, w.users, true) // it is on already, and goes on
	if changes, err := w.users.Changes(ctx, cursor, 10); err != nil || len(changes.Entries) != 0 {
		t.Errorf("after another changes on: %v, %v", changes, err)
	}
	w.Switch(t, w.users, false)
	w.expectOff(t)
	Create(t, w.users, "meanwhile")
	w.expectOff(t)
	w.Switch(t, w.users, true)
	if _, err := w.users.Changes(ctx, cursor, 10); !errors.Is(err, models.ErrCursorGone) {
		t.Errorf("a cursor of the earlier feed: %v", err)
	}
	w.read(t, "", 0)
	id := Create(t, w.users, "after")
	if got := ShownChanges(w.read(t, "", 1)); got != fmt.Sprint("created ", id) {
		t.Errorf("the feed has %s", got)
	}
}

func (w withFeed) expectOff(t *testing.T) {
	t.Helper()
	if _, err := w.users.Changes(ctx, "", 10); !errors.Is(err, models.ErrNoFeed) {
		t.Errorf("the feed: %v", err)
	}
	if _, err := w.users.Changes(ctx, "garbage", 10); !errors.Is(err, models.ErrNoFeed) {
		t.Errorf("the feed after a cursor: %v", err)
	}
	if cursor, err := w.users.Cursor(ctx); cursor != "" || err != nil {
		t.Errorf("the cursor is %q, %v", cursor, err)
	}
	if list, export := w.listed(t); list != "" || export != "" {
		t.Errorf("a list has the cursor %q, and an export %q", list, export)
	}
}
