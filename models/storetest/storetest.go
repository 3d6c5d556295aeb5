// Package storetest is the suite of tests that every storage engine passes: what package models promises, tried on the
// engine itself. An engine's own tests call [Run] with a function that opens it empty.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"users-api/models"
)

// Open returns an engine without users for a table of fields. It is closed when the test ends.
type Open func(t testing.TB, fields models.Fields) models.Users

// suite are the tests that need one engine each.
var suite = []struct {
	name string
	run  func(*testing.T, models.Users)
}{
	{"a user is there as it was created, with an id and a time", created},
	{"a duplicate email is refused and leaves no trace", duplicate},
	{"a change changes the fields that are set, and nothing else", changed},
	{"a change to another user's email is refused and leaves no trace", changedToDuplicate},
	{"a deleted user is gone, and its id is not given again", deleted},
	{"no user has an id that was never given", neverCreated},
	{"a condition sees the user as it is, and its refusal leaves no trace", conditions},
	{"of many changes with conditions at once none is lost", lostUpdates},
	{"one refusal among many writes at once refuses no other", refusedAlone},
	{"a page may begin anywhere and ends where it was asked to", pages},
	{"a page from memory is the one from storage", pagesInMemory},
	{"a page has a bounded size, whichever texts are long", pageSizes},
	{"a list has the version of its users", versions},
	{"every row that cannot be imported is named, whatever refuses it", importsRefused},
	{"a file that breaks off stores nothing", importsCutOff},
	{"an import names the first of the users that it deletes", deletedUsers},
	{"a snapshot is of one moment", snapshots},
	{"what is closed says so", closed},
	{"a context that has ended ends the wait", cancelled},
}

// Traits are what engines differ in by nature. The zero value is that of most.
type Traits struct {
	// NoNUL: a text with a NUL in it is refused.
	NoNUL bool
	// Gaps: an id that was given to what was taken back is not given again.
	Gaps bool
	// IgnoresCase: an index of the table makes two emails that differ only in the case of ASCII letters the same.
	IgnoresCase bool
	// Feed switches the feed of changes on and off.
	Feed Feed
}

// same returns what two emails have in common if one user at most may have them.
func (t Traits) same(email string) string {
	if t.IgnoresCase {
		return models.LowerASCII(email)
	}
	return email
}

// Run runs the suite.
func Run(t *testing.T, open Open, traits Traits) {
	for _, test := range suite {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, open(t, Fields()))
		})
	}
	for _, n := range []int{1, models.MostAdded} {
		t.Run(fmt.Sprintf("with %d added fields", n), func(t *testing.T) {
			t.Parallel()
			runAdded(t, open, traits, WithAdded(n))
		})
	}
	t.Run("an import stores all of a file or nothing", func(t *testing.T) {
		t.Parallel()
		imports(t, open, traits)
	})
	t.Run("a query is answered by the users that match, in its order", func(t *testing.T) {
		t.Parallel()
		selections(t, open(t, Fields()), traits)
	})
	if traits.Feed.Switch != nil {
		t.Run("with the feed of changes", func(t *testing.T) {
			t.Parallel()
			runFeed(t, open, traits.Feed)
		})
	}
	t.Run("whatever is done, the users are those of a plain model", func(t *testing.T) {
		t.Parallel()
		Random(t, open, traits, nil)
	})
}

var ctx = context.Background()

// OneGoroutine leaves out a long test with -short, which the gate gives to the race detector: SQLite takes ten times as long with
// it, and where one goroutine works it has nothing to find.
func OneGoroutine(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("one goroutine works, for long: run it without -short")
	}
}

// Create creates a user whose name is its email.
func Create(t testing.TB, users models.Users, email string) int64 {
	t.Helper()
	id, err := users.Create(ctx, models.NewUser{Name: email, Email: email})
	if err != nil {
		t.Fatalf("creating %s: %v", email, err)
	}
	return id
}

// Text returns the list as it is sent, and its version.
func Text(t testing.TB, users models.Users) (text, version string) {
	t.Helper()
	err := users.List(ctx, func(list models.List) (err error) {
		text, err = join(list)
		if version = list.Version; version != "" && list.Length != len(text) {
			t.Errorf("a list of %d bytes says that it has %d", len(text), list.Length)
		}
		if version == "" && list.Length != -1 {
			t.Errorf("a list whose bytes are not known says that it has %d", list.Length)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text, version
}

func join(list models.List) (string, error) {
	var text []byte
	for piece, err := range list.Chunks {
		if err != nil {
			return "", err
		}
		text = append(text, piece...)
	}
	return string(text), nil
}

func created(t *testing.T, users models.Users) {
	id := Create(t, users, "ada@example.org")
	user, err := users.Get(ctx, id)
	if err != nil || user.ID != id || user.Name != "ada@example.org" || user.Email != "ada@example.org" {
		t.Errorf("got %v, %v", user, err)
	}
	if models.ShownTime(user.CreatedAt) != user.CreatedAt || len(user.CreatedAt) != len("2006-01-02 15:04:05") {
		t.Errorf("it was created at %q", user.CreatedAt)
	}
	if text, _ := Text(t, users); text != "["+string(Fields().AppendUser(nil, &user))+"]" {
		t.Errorf("the list is %s", text)
	}
}

func duplicate(t *testing.T, users models.Users) {
	Create(t, users, "ada@example.org")
	before, version := Text(t, users)
	_, err := users.Create(ctx, models.NewUser{Name: "Other", Email: "ada@example.org"})
	expectDuplicate(t, err)
	if after, now := Text(t, users); after != before || now != version {
		t.Errorf("the list was %s and is %s", before, after)
	}
}

func expectDuplicate(t *testing.T, err error) {
	t.Helper()
	failed, ok := errors.AsType[*models.StorageError](err)
	if !ok || !failed.Duplicate || failed.Code == "" || failed.Text == "" {
		t.Errorf("a duplicate is refused with %#v", err)
	}
}

func versions(t *testing.T, users models.Users) {
	text, version := Text(t, users)
	if text != "[]" {
		t.Errorf("an empty list is %s", text)
	}
	seen := map[string]string{version: text}
	for i := range 5 {
		id := Create(t, users, fmt.Sprint(i))
		if i%2 == 1 {
			if err := users.Delete(ctx, id, nil); err != nil {
				t.Fatal(err)
			}
		}
		text, version = Text(t, users)
		if version == "" {
			return // this engine does not know it now
		}
		if other, found := seen[version]; found && other != text {
			t.Errorf("%s and %s have the version %s", other, text, version)
		}
		seen[version] = text
	}
	if len(seen) != 4 { // none, then 1, 2 and 3 users: what is created and deleted leaves the list as it was
		t.Errorf("the lists have %d versions", len(seen))
	}
}

func closed(t *testing.T, users models.Users) {
	id := Create(t, users, "ada@example.org")
	if err := errors.Join(users.Close(ctx), users.Close(ctx)); err != nil {
		t.Fatal(err)
	}
	_, create := users.Create(ctx, models.NewUser{Name: "n", Email: "e"})
	_, get := users.Get(ctx, id)
	_, change := users.Change(ctx, id, models.Values{}, nil)
	_, count := users.Count(ctx, models.Query{})
	list := users.List(ctx, func(models.List) error { return nil })
	_, page := users.Page(ctx, models.Query{Limit: 1})
	if page != nil && !errors.Is(page, models.ErrClosed) { // if there is no list, storage says that it is closed
		t.Errorf("a page: %v", page)
	}
	_, imported := users.Import(ctx, Rows(models.NewUser{Name: "n", Email: "e"}), models.ImportOptions{})
	for name, err := range map[string]error{
		"creating": create, "getting": get, "changing": change, "counting": count, "listing": list, "importing": imported,
		"deleting": users.Delete(ctx, id, nil),
	} {
		if !errors.Is(err, models.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	selected := 0
	for _, err := range users.Select(ctx, models.Query{}) {
		if selected++; !errors.Is(err, models.ErrClosed) {
			t.Errorf("selecting: %v", err)
		}
	}
	if selected != 1 {
		t.Errorf("selecting said it %d times", selected)
	}
}

func cancelled(t *testing.T, users models.Users) {
	Create(t, users, "ada@example.org")
	gone, cancel := context.WithCancel(ctx)
	cancel()
	for _, err := range users.Select(gone, models.Query{Contains: "a"}) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("selecting: %v", err)
		}
	}
	for range 50 { // it is not left to chance
		if _, err := users.Count(gone, models.Query{Contains: "a"}); !errors.Is(err, context.Canceled) {
			t.Fatalf("counting: %v", err)
		}
		if _, err := users.Get(gone, 1); !errors.Is(err, context.Canceled) {
			t.Fatalf("getting: %v", err)
		}
	}
}
