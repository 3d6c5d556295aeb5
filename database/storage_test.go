package database_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"users-api/database"
	"users-api/models"
)

func TestStorage(t *testing.T) {
	onEach(t, []test{
		{"a page has a bounded size, whichever texts are long", pageSizes},
		{"every row that cannot be imported is named, whatever refuses it", importsRefused},
		{"rows of many users with the same emails are stored in their order", repeatedRows},
		{"what is closed says so", closed},
		{"a write is refused at once while the close waits for another", closing},
		{"a write waits for an import, however long that takes", writesBesideImport},
	}, plain())
}

// A limit that counted names alone would let a page of long emails take all memory.
func pageSizes(t *testing.T, s *storage) {
	const n, most = 24, 256 << 10
	long := strings.Repeat("x", 30_000)
	for what, name := range map[string]string{"names": long, "emails": ""} {
		var rows []models.Values
		for i := range n {
			rows = append(rows, values(s.fields, "name", name, "email", fmt.Sprint(i, long[len(name):])))
		}
		if _, err := s.Import(ctx, lines(rows), becomes(n)); err != nil {
			t.Fatal(err)
		}
		found := 0
		for page, err := range s.Select(ctx, models.Query{}) {
			bytes := 0
			for _, user := range page {
				bytes += s.fields.Bytes(&user.Profile)
			}
			if found += len(page); bytes > most || err != nil {
				t.Errorf("a page of %d users with long %s has %d bytes, %v", len(page), what, bytes, err)
			}
		}
		if found != n {
			t.Errorf("%d users with long %s are on the pages, want %d", found, what, n)
		}
	}
}

const skips, updates = database.ConflictSkips, database.ConflictUpdates

// becomes returns the options with which the table becomes the file, if at most some users are deleted.
func becomes(most int) database.ImportOptions {
	return database.ImportOptions{OnConflict: updates, DeleteMissing: true, MaxDeletes: most}
}

// refusals writes why an import was refused.
func refusals(err error) string {
	if many, ok := errors.AsType[*database.TooManyDeletes](err); ok {
		return fmt.Sprintf("%d of %d deletes: %v", many.Missing, many.Max, many.Users)
	}
	refused, ok := errors.AsType[*database.RefusedRows](err)
	if !ok {
		return strings.ReplaceAll(fmt.Sprint(err), "<nil>", "")
	}
	var texts []string
	for _, row := range refused.Listed {
		failure := refusal(row.Err)
		switch {
		case errors.Is(row.Err, models.ErrRepeated):
			texts = append(texts, fmt.Sprint(row.Line, " repeated"))
		case failure != nil && failure.Duplicate:
			texts = append(texts, fmt.Sprint(row.Line, " duplicate"))
		default:
			texts = append(texts, fmt.Sprint(row.Line, " ", row.Err))
		}
	}
	return strings.Join(texts, ", ")
}

// What the format refuses and what the table refuses is one list, in the order of the file, of the first 100.
func importsRefused(t *testing.T, s *storage) {
	s.create(t, "ada")
	unreadable := errors.New("cannot be read")
	rows := func(yield func(database.ImportRow, error) bool) {
		for line := 1; line <= 300; line++ {
			row := database.ImportRow{Line: line, Values: values(s.fields, "name", "n", "email", fmt.Sprint(line))}
			var err error
			switch line % 3 {
			case 1:
				err = &database.RowError{Line: line, Err: unreadable}
			case 2:
				row.User.Email = "ada"
			}
			if !yield(row, err) {
				return
			}
		}
	}
	_, err := s.Import(ctx, rows, database.ImportOptions{})
	refused, ok := errors.AsType[*database.RefusedRows](err)
	if !ok || refused.Refused != 200 || refused.All != 300 || len(refused.Listed) != models.MaxListed {
		t.Fatalf("got %v", err)
	}
	for i, row := range refused.Listed {
		if line := i/2*3 + i%2 + 1; row.Line != line || errors.Is(row.Err, unreadable) != (i%2 == 0) {
			t.Errorf("refusal %d is %v, want line %d", i, row, line)
		}
	}
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

func closed(t *testing.T, s *storage) {
	if err := errors.Join(s.Close(ctx), s.Close(ctx)); err != nil {
		t.Fatal(err)
	}
	_, get := s.Get(ctx, database.Who{ID: 1})
	_, count := s.Count(ctx, models.Query{})
	_, imported := s.Import(ctx, lines(file("n:e")), database.ImportOptions{})
	_, changes := s.Changes(ctx, "", 1)
	for name, err := range map[string]error{
		"creating": s.add(ctx, "e"), "getting": get, "changing": s.rename(1, "n"), "counting": count, "importing": imported,
		"deleting": s.remove(1), "following": changes,
		"exporting": s.Export(ctx, models.Query{}, func(database.Export) error { return nil }),
		"listing":   s.List(ctx, func(models.List) error { return nil }),
	} {
		if !errors.Is(err, models.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
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

// writesBesideImport imports a file whose last row comes only after longer than any write may wait for another program. What it
// has written waits for it, and then for another program that holds a lock for a moment. A client that leaves waits no longer.
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
			err := write()
			answers <- fmt.Sprint(name, ": ", err == nil, " ", refusal(err) != nil && refusal(err).Duplicate)
		}()
	}
	time.Sleep(waits)
	if len(answers) > 0 {
		t.Errorf("during the import, %s", <-answers)
	}
	leaving, leave := context.WithTimeout(ctx, time.Second)
	defer leave()
	if err := s.add(leaving, "of no row"); s.delayed != (err == nil) || err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a creation of whom the file does not have, and whose client leaves: %v", err) // on SQLite, all writes wait
	}
	other, locked := s.other(t, s.at), make(chan bool)
	if !s.delayed {
		run(t, other, "PRAGMA busy_timeout = 0") // it tries again at once, and so before the writes that wait
	}
	go func() {
		for locks := false; !locks; { // SQLite has no way to wait for a lock that many want
			_, err := other.Exec(map[bool]string{true: "BEGIN; LOCK TABLE users", false: "BEGIN IMMEDIATE"}[s.delayed])
			locks = err == nil
		}
		time.Sleep(300 * time.Millisecond)
		run(t, other, "COMMIT")
		close(locked)
	}()
	close(last)
	if err := <-imported; err != nil {
		t.Error(err)
	}
	<-locked
	got := []string{<-answers, <-answers, <-answers}
	slices.Sort(got)
	if want := []string{"a change: true false", "a creation: false true", "a deletion: true false"}; !slices.Equal(got, want) {
		t.Errorf("after the import, each is done, or of a duplicate: %q, want %q", got, want)
	}
}
