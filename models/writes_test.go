package models_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"users-api/models"
)

func TestWrites(t *testing.T) {
	onEach(t, []test{
		{"what is closed says so", closed},
		{"a write is refused at once while the close waits for another", closing},
		{"a write waits for an import, however long that takes", writesBesideImport},
	}, plain())
}

func closed(t *testing.T, s *storage) {
	id := s.create(t, "ada@example.org")
	if err := errors.Join(s.Close(ctx), s.Close(ctx)); err != nil {
		t.Fatal(err)
	}
	_, create := s.Create(ctx, models.NewUser{Name: "n", Email: "e"})
	_, get := s.Get(ctx, id)
	_, change := s.Change(ctx, id, models.Values{}, nil)
	_, count := s.Count(ctx, models.Query{})
	_, imported := s.Import(ctx, lines(file("n:e")), models.ImportOptions{})
	_, _, export := exported(s.Users, models.Query{})
	_, changes := s.Changes(ctx, "", 1)
	var selected error
	for _, err := range s.Select(ctx, models.Query{}) {
		selected = err
	}
	for name, err := range map[string]error{
		"creating": create, "getting": get, "changing": change, "counting": count, "importing": imported, "exporting": export,
		"deleting": s.Delete(ctx, id, nil), "listing": s.List(ctx, func(models.List) error { return nil }),
		"selecting": selected, "following": changes,
	} {
		if !errors.Is(err, models.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.Page(ctx, models.Query{Limit: 1}); err != nil && !errors.Is(err, models.ErrClosed) {
		t.Errorf("a page: %v", err) // without a list in memory, storage says that it is closed
	}
}

func closing(t *testing.T, s *storage) {
	last, imported, closed := make(chan bool), make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := s.Import(ctx, func(yield func(models.ImportRow, error) bool) {
			go func() { closed <- s.Close(ctx) }()
			<-last
		}, models.ImportOptions{})
		imported <- err
	}()
	created := make(chan error, 1000)
	for tries, refused := 0, false; !refused; tries++ { // those that come before the close may wait for the import
		if tries == cap(created) {
			close(last)
			t.Fatal("no write is refused")
		}
		go func() {
			_, err := s.Create(ctx, models.NewUser{Name: "n", Email: "e"})
			created <- err
		}()
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
	stored, last := make(chan bool), make(chan bool)
	imported := make(chan error, 1)
	go func() {
		_, err := s.Import(ctx, func(yield func(models.ImportRow, error) bool) {
			for i := range 2000 {
				if i == 1900 { // the others are stored
					close(stored)
					<-last
				}
				email := map[int]string{0: "changed", 1: "deleted"}[i]
				row := values(s.fields, "name", "imported", "email", cmp.Or(email, fmt.Sprint("file", i)))
				if !yield(models.ImportRow{Line: i + 2, Values: row}, nil) {
					return
				}
			}
		}, models.ImportOptions{OnConflict: updates})
		imported <- err
	}()
	<-stored
	writes := map[string]func() error{
		"a change":   func() error { return s.rename(changed, "after") },
		"a deletion": func() error { return s.Delete(ctx, deleted, nil) },
		"a creation": func() error { _, err := s.Create(ctx, models.NewUser{Name: "n", Email: "file7"}); return err },
	}
	answers := make(chan string, len(writes))
	for name, write := range writes {
		go func() { answers <- fmt.Sprintf("%s: %v", name, write()) }()
	}
	if s.delayed { // on SQLite, all writes wait
		s.create(t, "of no row")
	}
	var got []string
	select {
	case early := <-answers:
		t.Errorf("during the import, %s", early)
		got = append(got, early)
	case <-time.After(waits):
	}
	if !s.delayed {
		leaving, leave := context.WithTimeout(ctx, time.Second/10)
		defer leave()
		_, err := s.Create(leaving, models.NewUser{Name: "n", Email: "left"})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a creation whose client leaves: %v", err)
		}
	}
	other := s.other(t, s.at)
	locked := make(chan bool)
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
	for len(got) < len(writes) {
		got = append(got, <-answers)
	}
	slices.Sort(got)
	want := []string{"a change: <nil>", "a creation: ", "a deletion: <nil>"}
	if got[0] != want[0] || !strings.Contains(strings.ToLower(got[1]), "unique constraint") || got[2] != want[2] {
		t.Errorf("after the import: %q", got)
	}
}
