package database_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"users-api/database"
	"users-api/models"
)

func TestStorage(t *testing.T) {
	onEach(t, []test{
		{"rows of many users with the same emails are stored in their order", repeatedRows},
		{"a write is refused at once while the close waits for another", closing},
		{"a write beside an import waits for it, however long that takes, or is refused in time", writesBesideImport},
	}, plain())
}

const updates = database.ConflictUpdates

// becomes returns the options with which the table becomes the file, if at most some users are deleted.
func becomes(most int) database.ImportOptions {
	return database.ImportOptions{OnConflict: updates, DeleteMissing: true, MaxDeletes: most}
}

// repeatedRows imports more rows than are stored together, many with the email of an earlier row, and then deletes more users
// than are looked at together.
func repeatedRows(t *testing.T, s *storage) {
	const users, times = 700, 4
	var rows []models.Values
	for i := range users * times {
		rows = append(rows, values(s.fields, "name", fmt.Sprint(i), "email", fmt.Sprint(i*9%users)))
	}
	done, err := s.Import(ctx, lines(rows), database.ImportOptions{OnConflict: updates})
	if want := (database.Imported{Created: users, Updated: users * (times - 1)}); !reflect.DeepEqual(done, want) || err != nil {
		t.Errorf("got %+v, %v, want %+v", done, err, want)
	}
	for _, user := range selected(t, s.Users, models.Query{}) {
		var last, email int
		_, _ = fmt.Sscan(user.Name+" "+user.Email, &last, &email)
		if last < users*(times-1) || last*9%users != email {
			t.Fatalf("%+v is stored", user)
		}
	}
	done, err = s.Import(ctx, lines(file("kept:0")), becomes(users))
	left, named := selected(t, s.Users, models.Query{}), len(done.DeletedUsers)
	if done.Deleted != users-1 || named != models.MaxListed || len(left) != 1 || err != nil {
		t.Errorf("%d are deleted, and %d of them named, %v: left are %.500v", done.Deleted, named, err, left)
	}
}

func closing(t *testing.T, s *storage) {
	last, imported, closed := make(chan bool), make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := s.Import(ctx, func(yield func(database.ImportRow, error) bool) {
			go func() { closed <- s.Close(ctx) }()
			<-last
		}, database.ImportOptions{})
		imported <- err
	}()
	created := make(chan error, 1000)
	for tries, refused := 0, false; !refused; tries++ { // those that come before the close may wait for the import
		if tries == cap(created) {
			close(last)
			t.Fatal("no write is refused")
		}
		go func() { created <- s.add(ctx, "e") }()
		select {
		case err := <-created:
			refused = errors.Is(err, models.ErrClosed)
		case <-time.After(10 * time.Millisecond):
		}
	}
	if len(closed) > 0 {
		t.Error("it is closed although an import is under way")
	}
	close(last)
	if err := errors.Join(<-imported, <-closed); err != nil {
		t.Error(err)
	}
}

// writesBesideImport imports a file whose last row comes only after longer than any write waits for another program. On SQLite
// what it has written waits for it, and a client that leaves waits no longer. On PostgreSQL only writes that need what the import
// has written wait, and are refused in time.
func writesBesideImport(t *testing.T, s *storage) {
	const waits = 6 * time.Second
	changed, deleted := s.create(t, "changed"), s.create(t, "deleted")
	stored, last, imported := make(chan bool), make(chan bool), make(chan error, 1)
	rows := file("imported:changed", "imported:deleted")
	for i := range 1998 {
		rows = append(rows, file(fmt.Sprint("n:", i))...)
	}
	go func() {
		_, err := s.Import(ctx, func(yield func(database.ImportRow, error) bool) {
			for i, row := range rows {
				if i == 1900 { // the others are stored
					close(stored)
					<-last
				}
				if !yield(database.ImportRow{Line: i + 2, Values: row}, nil) {
					return
				}
			}
		}, database.ImportOptions{OnConflict: updates})
		imported <- err
	}()
	<-stored
	answers := make(chan string, 3)
	for name, write := range map[string]func() error{
		"a change":   func() error { return s.rename(changed, "after") },
		"a creation": func() error { return s.add(ctx, "7") },
		"a deletion": func() error { return s.remove(deleted) },
	} {
		go func() {
			outcome, failed := "done", refusal(write())
			if failed != nil {
				outcome = map[bool]string{true: "duplicate", false: "refused"}[failed.Duplicate]
			}
			answers <- name + ": " + outcome
		}()
	}
	sorted := func() []string {
		got := []string{<-answers, <-answers, <-answers}
		slices.Sort(got)
		return got
	}
	if s.delayed {
		got, created := sorted(), s.add(ctx, "of no row")
		close(last)
		want := []string{"a change: refused", "a creation: refused", "a deletion: refused"} // a busy machine may reach another limit first
		if err := errors.Join(created, <-imported); err != nil || !slices.Equal(got, want) {
			t.Errorf("during the import, %q, want %q; it, and the creation of whom the file does not have: %v", got, want, err)
		}
		return
	}
	time.Sleep(waits)
	if len(answers) > 0 {
		t.Errorf("during the import, %s", <-answers)
	}
	leaving, leave := context.WithTimeout(ctx, time.Second)
	defer leave()
	if err := s.add(leaving, "of no row"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a creation whose client leaves: %v", err)
	}
	close(last)
	if err := <-imported; err != nil {
		t.Error(err)
	}
	if got, want := sorted(), []string{"a change: done", "a creation: duplicate", "a deletion: done"}; !slices.Equal(got, want) {
		t.Errorf("after the import, each is done, or of a duplicate: %q, want %q", got, want)
	}
}

// A condition that was forgotten must never select all users.
func TestAQueryWithoutAConditionSelectsNobody(t *testing.T) {
	t.Parallel()
	s := sqlite.open(t, plain())
	s.create(t, "ada")
	unknown := map[string]models.Condition{}
	for _, column := range []string{"id", "name", "created_at"} {
		unknown[column], _ = s.fields.Compare(column, "xx", map[string]string{"id": "1", "created_at": "2026-01-01"}[column])
	}
	for name, where := range map[string]models.Condition{
		"an operator that SQL does not know, for ids": unknown["id"], "for texts": unknown["name"], "for times": unknown["created_at"],
		"none": nil, "none among others": models.And{models.Search("a"), nil}, "not none": models.Not{}, "one of none": models.Or{nil},
		"a comparison that nobody made": models.Comparison{}, "one under others": models.Or{models.Comparison{}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s selects users", name)
				}
			}()
			_ = s.Query(ctx, models.Query{Where: models.And{where}}, func(database.Result) error { return nil })
		}()
	}
}
