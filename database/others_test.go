package database_test

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"users-api/database"
	"users-api/models"
)

// Whatever another program does, nothing that is shown is stale: not after its commits, nor after ours, which its
// triggers may spread.
func TestWhatAnotherProgramWritesIsShownAtOnce(t *testing.T) {
	t.Parallel()
	for name, commands := range map[string][]command{
		"as it is": nil, "with the feed": {database.Location.RecordChanges}, "with an index": {database.Location.IndexSearch},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, []test{{"statements of another program", writtenByAnother}}, plain(), commands...)
		})
	}
}

// fill stores n users in one statement.
const fill = "INSERT INTO users (name, email) " +
	"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT 'n', 'many' || i FROM n"

func writtenByAnother(t *testing.T, s *storage) {
	other := s.other(t, s.at)
	run(t, other, fmt.Sprintf(fill, 1100))
	for i, statements := range append([]string{
		"INSERT INTO users (name, email) VALUES ('new', 'new')", "UPDATE users SET name = 'changed' WHERE id = 700",
		"DELETE FROM users WHERE id = 3", "UPDATE users SET id = -7, email = 'moved' WHERE id = 8",
		"BEGIN; DELETE FROM users WHERE id = 9; ROLLBACK",
	}, s.odd...) {
		run(t, other, statements)
		s.expectTable(t, statements, other)
		s.writeAtOnce(t, i)
		s.expectTable(t, statements+", and our writes", other)
	}
}

// writeAtOnce creates and changes users at once, and expects that the ids and the users that are answered are those that
// are stored. Triggers may change the letters of an email.
func (s *storage) writeAtOnce(t testing.TB, round int) {
	t.Helper()
	var wait sync.WaitGroup
	for i := range 10 {
		wait.Go(func() {
			email := fmt.Sprint("OURS ", round, " ", i)
			id, err := s.Create(ctx, models.Profile{Name: "n", Email: email})
			changed, failed := s.Change(ctx, database.Who{ID: id}, values(s.fields, "name", "ours"), nil)
			stored, gone := s.Get(ctx, database.Who{ID: id})
			err = errors.Join(err, failed, gone)
			if err != nil || !s.same(changed, stored) || !strings.EqualFold(stored.Email, email) {
				t.Errorf("%s: the change is answered with %+v, and stored is %+v, %v", email, changed, stored, err)
			}
		})
	}
	wait.Wait()
}

// expectTable expects that lists, pages and single users are what another program reads from the table. Users that were
// the same the last time are not read alone again.
func (s *storage) expectTable(t testing.TB, when string, other *sql.DB) {
	t.Helper()
	rows, err := other.Query("SELECT id, coalesce(name, ''), coalesce(email, ''), coalesce(created_at || '', '') " +
		"FROM users ORDER BY id")
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	defer rows.Close() //nolint:errcheck // it was only read
	var texts []string
	seen := s.seen
	s.seen = map[string]bool{}
	for rows.Next() {
		var want models.User
		if err := rows.Scan(&want.ID, &want.Name, &want.Email, &want.CreatedAt); err != nil {
			t.Fatal(err)
		}
		want.CreatedAt = models.ShownTime(want.CreatedAt)
		text := string(s.fields.AppendUser(nil, &want))
		texts, s.seen[text] = append(texts, text), true
		if seen[text] {
			continue
		}
		if got, err := s.Get(ctx, database.Who{ID: want.ID}); !s.same(got, want) || err != nil {
			t.Errorf("%s: the user is %v, %v, want %v", when, got, err, want)
		}
	}
	if all, version := list(t, s.Users); all != "["+strings.Join(texts, ",")+"]" || version == "" && !s.delayed {
		t.Errorf("%s: the list is %.300s, want %.300v", when, all, texts)
	}
}
