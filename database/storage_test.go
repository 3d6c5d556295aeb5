package database_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"users-api/database"
	"users-api/models"
	"users-api/tests/program"
)

// The last row of a file comes only after longer than any write waits for another program. On SQLite all writes wait for the
// import, and a client that leaves waits no longer. On PostgreSQL only writes that need what the import has written wait, and are
// refused in time.
func TestAWriteBesideAnImportWaitsForItOrIsRefusedInTime(t *testing.T) { onEach(t, writesBesideImport) }

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
		}, database.ImportOptions{OnConflict: database.ConflictUpdates})
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
		program.Must(t, errors.Join(created, <-imported))
		program.Expect(t, "what is said of writes during the import", got, "[a change: refused a creation: refused a deletion: refused]")
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
	program.Expect(t, "what is said of writes after the import", sorted(), "[a change: done a creation: duplicate a deletion: done]")
}

// A condition that was forgotten must never select all users.
func TestAQueryWithoutAConditionSelectsNobody(t *testing.T) {
	t.Parallel()
	s := sqlite.open(t)
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
