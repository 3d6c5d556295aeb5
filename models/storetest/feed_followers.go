package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"users-api/models"
)

// listed returns the cursors of a list and of an export.
func (w withFeed) listed(t *testing.T) (list, export string) {
	t.Helper()
	listing := w.users.List(ctx, func(l models.List) (err error) { list = l.Cursor; _, err = join(l); return err })
	exporting := w.users.Export(ctx, models.Query{}, func(e models.Export) error { export = e.Cursor; return nil })
	if err := errors.Join(listing, exporting); err != nil {
		t.Fatal(err)
	}
	return list, export
}

// snapshots takes lists and exports while many users are written. A client that goes on from their cursors ends with the
// users that are stored.
func (w withFeed) snapshots(t *testing.T) {
	written := make(chan struct{})
	go func() {
		defer close(written)
		for i := range 200 {
			id, err := w.users.Create(ctx, models.NewUser{Name: "n", Email: fmt.Sprint(i)})
			if err == nil && i%3 == 0 {
				_, err = w.users.Change(ctx, id, Values("name", "changed"), nil)
			}
			if err == nil && i%5 == 0 {
				err = w.users.Delete(ctx, id, nil)
			}
			if err != nil {
				t.Error(err)
			}
		}
	}()
	var followers []*Follower
	for done := false; !done; {
		select {
		case <-written:
			done = true
		default:
		}
		f := newFollower(w.users)
		if err := f.export(); err != nil || f.cursor == "" {
			t.Fatalf("an export with the cursor %q: %v", f.cursor, err)
		}
		if followers = append(followers, f); len(followers) > 50 {
			<-written
		}
	}
	want := everyUser(t, w.users)
	for _, f := range followers {
		if err := f.expect(want, 7, w.Delayed); err != nil {
			t.Fatal(err)
		}
	}
	list, export := w.listed(t)
	for _, cursor := range []string{list, export} {
		if cursor != "" { // a list that is streamed has none
			w.read(t, cursor, 0)
		}
	}
	id := Create(t, w.users, "last")
	if got := ShownChanges(w.read(t, export, 1)); got != fmt.Sprint("created ", id) {
		t.Errorf("after an export come %s", got)
	}
}

func (w withFeed) awaited(t *testing.T) {
	cursor := w.cursor(t, 0)
	gone, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	for gone.Err() == nil { // it may return early, and there is nothing
		if err := w.users.AwaitChanges(gone, cursor); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		changes, err := w.users.Changes(ctx, cursor, 10)
		if err != nil || len(changes.Entries) > 0 {
			t.Fatalf("%v, %v", changes, err)
		}
		cursor = changes.Next
	}
	heard := make(chan error, 10)
	for range cap(heard) {
		go func() {
			f := newFollower(w.users)
			f.cursor, f.copy = cursor, map[int64]models.User{}
			limited, cancel := context.WithTimeout(ctx, 30*time.Second)
			defer cancel()
			err := error(nil)
			for len(f.copy) == 0 && err == nil {
				if err = w.users.AwaitChanges(limited, f.cursor); err == nil {
					err = f.follow(10)
				}
			}
			heard <- err
		}()
	}
	Create(t, w.users, "ada")
	for range cap(heard) {
		if err := <-heard; err != nil {
			t.Error(err)
		}
	}
}

// together writes from many clients at once, while others follow.
func (w withFeed) together(t *testing.T) {
	const writers, each = 16, 30
	wrote := make(chan error, writers)
	for writer := range writers {
		go func() {
			var err error
			for i := range each {
				id, failed := w.users.Create(ctx, models.NewUser{Name: "n", Email: fmt.Sprint(writer, " ", i)})
				if failed == nil && i%2 == 0 {
					_, failed = w.users.Change(ctx, id, Values("name", "changed"), nil)
				}
				if failed == nil && i%3 == 0 {
					failed = w.users.Delete(ctx, id, nil)
				}
				err = errors.Join(err, failed)
			}
			wrote <- err
		}()
	}
	early, n := newFollower(w.users), 0
	err := early.export()
	for n < writers && err == nil {
		select {
		case failed := <-wrote:
			n, err = n+1, failed
		default:
			err = early.follow(1 + n)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	want := everyUser(t, w.users)
	if err := early.expect(want, 1000, w.Delayed); err != nil {
		t.Error(err)
	}
}
