package models_test

import (
	"context"
	"errors"
	"testing"

	"users-api/models"
)

func TestWrites(t *testing.T) {
	onEach(t, []test{
		{"what is closed says so", closed},
		{"a context that has ended ends the wait", cancelled},
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

func cancelled(t *testing.T, s *storage) {
	s.create(t, "ada@example.org")
	gone, cancel := context.WithCancel(ctx)
	cancel()
	for range 20 { // it is not left to chance
		_, create := s.Create(gone, models.NewUser{Name: "n", Email: "e"})
		_, count := s.Count(gone, models.Query{Contains: "a"})
		_, imported := s.Import(gone, lines(file("n:e")), models.ImportOptions{})
		for name, err := range map[string]error{"creating": create, "counting": count, "importing": imported} {
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("%s: %v", name, err)
			}
		}
		for _, err := range s.Select(gone, models.Query{Contains: "a"}) {
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("selecting: %v", err)
			}
		}
	}
	if stored := s.stored(t); len(stored) != 1 {
		t.Errorf("stored are %v", stored)
	}
}
