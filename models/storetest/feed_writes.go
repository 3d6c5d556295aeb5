package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"users-api/models"
)

func (w withFeed) imports(t *testing.T) {
	ada, bob, eve := Create(t, w.users, "ada"), Create(t, w.users, "bob"), Create(t, w.users, "eve")
	cursor := w.cursor(t, 3)
	rows := Rows(models.NewUser{Name: "Ada", Email: "ada"}, models.NewUser{Name: "bob", Email: "bob"},
		models.NewUser{Name: "n", Email: "new"})
	options := models.ImportOptions{OnConflict: updates, DeleteMissing: true, MaxDeletes: 1, DryRun: true}
	done, err := w.users.Import(ctx, rows, options)
	if done.Deleted != 1 || done.Updated != 1 || done.Created != 1 || err != nil {
		t.Errorf("a dry run: %+v, %v", done, err)
	}
	options.DryRun, options.MaxDeletes = false, 0
	if _, err := w.users.Import(ctx, rows, options); err == nil {
		t.Error("an import that would delete too many was not refused")
	}
	fails := Rows(models.NewUser{Name: "n", Email: "newer"}, models.NewUser{Name: "n", Email: "ada"})
	if _, err := w.users.Import(ctx, fails, models.ImportOptions{}); err == nil {
		t.Error("an import of a duplicate was not refused")
	}
	options.MaxDeletes = 1
	if _, err := w.users.Import(ctx, rows, options); err != nil {
		t.Fatal(err)
	}
	changes := w.read(t, cursor, 3)
	var got []string
	for _, change := range changes {
		got = append(got, fmt.Sprint(change.Op, " ", change.ID))
		if change.ID == bob {
			t.Errorf("a user that was skipped is recorded as %s", change.Op)
		}
	}
	slices.Sort(got)
	if got[0] != fmt.Sprint("changed ", ada) || !strings.HasPrefix(got[1], "created ") ||
		got[2] != fmt.Sprint("deleted ", eve) {
		t.Errorf("the entries are %v", got)
	}
}

func (w withFeed) refused(t *testing.T) {
	ada, bob := Create(t, w.users, "ada"), Create(t, w.users, "bob")
	cursor := w.cursor(t, 2)
	refuse := func(models.User) error { return errors.New("not now") }
	_, create := w.users.Create(ctx, models.NewUser{Name: "n", Email: "ada"})
	_, change := w.users.Change(ctx, bob, Values("email", "ada"), nil)
	_, condition := w.users.Change(ctx, ada, Values("name", "n"), refuse)
	for what, err := range map[string]error{
		"a duplicate": create, "a change to a duplicate": change, "a change with a condition": condition,
		"a deletion with a condition": w.users.Delete(ctx, ada, refuse), "a deletion of no user": w.users.Delete(ctx, 0, nil),
	} {
		if err == nil {
			t.Errorf("%s was not refused", what)
		}
	}
	last := Create(t, w.users, "last")
	if got := ShownChanges(w.read(t, cursor, 1)); got != fmt.Sprint("created ", last) {
		t.Errorf("the entries are %s", got)
	}
}

// pruner is what deletes old entries, which only the service asks for.
type pruner interface {
	PruneChanges(ctx context.Context, before time.Time) error
}

func (w withFeed) prune(t *testing.T, before time.Time) {
	t.Helper()
	if err := w.users.(pruner).PruneChanges(ctx, before); err != nil {
		t.Fatal(err)
	}
}

// later returns a time that is certainly after all that was written, and before all that will be.
func later() time.Time {
	time.Sleep(5 * time.Millisecond) // entries have times in milliseconds
	defer time.Sleep(5 * time.Millisecond)
	return time.Now()
}

func (w withFeed) pruned(t *testing.T) {
	const n = 5
	begin := w.cursor(t, 0)
	w.prune(t, later()) // there is nothing to delete
	for i := range n {
		Create(t, w.users, fmt.Sprint("old", i))
	}
	old := w.read(t, "", n)
	middle := later()
	for i := range n {
		Create(t, w.users, fmt.Sprint("new", i))
	}
	all := w.read(t, "", 2*n)
	w.prune(t, middle.Add(-time.Hour))
	w.read(t, begin, 2*n)
	w.prune(t, middle)
	if got := w.read(t, "", n); ShownChanges(got) != ShownChanges(all[n:]) {
		t.Errorf("%s are left", ShownChanges(got))
	}
	for _, gone := range append([]models.Change{{Cursor: begin}}, old[:n-1]...) {
		if changes, err := w.users.Changes(ctx, gone.Cursor, 10); !errors.Is(err, models.ErrCursorGone) {
			t.Errorf("after %s there are %s, %v", gone.Cursor, ShownChanges(changes.Entries), err)
		}
	}
	w.read(t, old[n-1].Cursor, n) // all that comes after it is still there
	last := all[2*n-1].Cursor
	w.prune(t, later())
	w.read(t, last, 0)
	id := Create(t, w.users, "after all")
	if got := ShownChanges(w.read(t, last, 1)); got != fmt.Sprint("created ", id) {
		t.Errorf("after the newest come %s", got)
	}
}
