package models_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	if err := errors.Join(s.Close(ctx), s.Close(ctx)); err != nil {
		t.Fatal(err)
	}
	_, create := s.Create(ctx, models.NewUser{Name: "n", Email: "e"})
	_, get := s.Get(ctx, 1)
	_, count := s.Count(ctx, models.Query{})
	_, imported := s.Import(ctx, lines(file("n:e")), models.ImportOptions{})
	_, _, export := exported(s.Users, models.Query{})
	_, changes := s.Changes(ctx, "", 1)
	for name, err := range map[string]error{
		"creating": create, "getting": get, "changing": s.rename(1, "n"), "counting": count, "importing": imported,
		"exporting": export, "deleting": s.Delete(ctx, 1, nil), "following": changes,
		"listing": s.List(ctx, func(models.List) error { return nil }),
	} {
		if !errors.Is(err, models.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
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
	stored, last, imported := make(chan bool), make(chan bool), make(chan error, 1)
	go func() {
		_, err := s.Import(ctx, func(yield func(models.ImportRow, error) bool) {
			for i, row := range slices.Concat(file("imported:changed", "imported:deleted"), many(1998)) {
				if i == 1900 { // the others are stored
					close(stored)
					<-last
				}
				if !yield(models.ImportRow{Line: i + 2, Values: row}, nil) {
					return
				}
			}
		}, models.ImportOptions{OnConflict: updates})
		imported <- err
	}()
	<-stored
	create := func(ctx context.Context, email string) error {
		_, err := s.Create(ctx, models.NewUser{Name: "n", Email: email})
		return err
	}
	answers := make(chan string, 3)
	for name, write := range map[string]func() error{
		"a change":   func() error { return s.rename(changed, "after") },
		"a creation": func() error { return create(ctx, "7") },
		"a deletion": func() error { return s.Delete(ctx, deleted, nil) },
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
	if err := create(leaving, "of no row"); s.delayed != (err == nil) || err != nil && !errors.Is(err, context.DeadlineExceeded) {
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
