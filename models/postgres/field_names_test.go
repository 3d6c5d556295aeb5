//go:build postgres

package postgres

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"users-api/models"
	"users-api/models/batch"
	"users-api/models/storetest"
	"users-api/tests/postgresql"
)

// clashing are names of fields that are keywords, or that PostgreSQL or our own statements give to something else.
var clashing = []string{
	"group", "select", "ordinality", "n", "u", "users", "written", "user", "oid", "place", "found", "sent", "new", "same", "unnest",
	"excluded", "old", "now", "lateral", "null", "public", "text", "default",
}

func TestAFieldMayHaveTheNameOfAKeyword(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	users := openWith(t, url, models.NewFields(clashing...))
	all := []string{"name", "Ada", "email", "ada"}
	for _, name := range clashing {
		all = append(all, name, "of "+name)
	}
	together := slices.Repeat([]models.NewUser{{}}, 20)
	for i := range together {
		together[i] = values(users, slices.Concat(all, []string{"email", fmt.Sprint(i)})...).User
	}
	ids, errs := createAll(users, together...)
	expectStored(t, users, together, ids, errs)
	options := models.ImportOptions{OnConflict: models.ConflictUpdates, DeleteMissing: true, MaxDeletes: 19}
	file := []models.Values{values(users, all...), values(users, "name", "0", "email", "0")}
	for _, name := range clashing {
		file = append(file, values(users, "email", "0", name, "changed "+name))
	}
	done, err := users.Import(ctx, storetest.RowsOf(file...), options)
	if done.Created != 1 || done.Updated != 1+len(clashing) || done.Deleted != 19 || err != nil {
		t.Errorf("the import: %+v, %v", done, err)
	}
	for _, name := range clashing {
		expectFields(t, url, name, fmt.Sprintf("0:changed %s ada:of %[1]s", name))
		for _, query := range []models.Query{{Equal: values(users, name, "of "+name)}, {Contains: "changed " + name, Limit: 1}} {
			found := 0
			for user, err := range models.Each(users.Select(ctx, query)) {
				if found++; err != nil {
					t.Errorf("%s: %+v, %v", name, user, err)
				}
			}
			if found != 1 {
				t.Errorf("%d users are found by %s", found, name)
			}
		}
		for _, allow := range []models.Condition{nil, func(models.User) error { return nil }} {
			got, err := users.Change(ctx, ids[0], values(users, name, "again"), allow)
			if field := users.queries.fields.Find(name); err != nil || *field.Value(&got.NewUser) != "again" {
				t.Errorf("%s is changed to %+v, %v", name, got, err)
			}
		}
	}
	copyTo(t, users)
}

// copyTo copies users to another database, with COPY, and with INSERT when one of them is refused.
func copyTo(t *testing.T, users *Users) {
	t.Helper()
	url := postgresql.Shared(t).NewDatabase(t)
	other := openWith(t, url, users.queries.fields)
	from := CopySource{Count: 2, Highest: 100, Finish: func() error { return nil }, Users: func() iter.Seq2[models.User, error] {
		return models.Each(users.Select(ctx, models.Query{}))
	}}
	postgresql.SQL(t, url, "ALTER TABLE users ADD CONSTRAINT refused CHECK (name <> 'Ada')")
	if err := other.CopyFrom(ctx, from, nil); err == nil || !strings.Contains(err.Error(), `"refused" (SQLSTATE 23514): those with the ids`) {
		t.Errorf("the copy says %v", err)
	}
	postgresql.SQL(t, url, "ALTER TABLE users DROP CONSTRAINT refused")
	if err := other.CopyFrom(ctx, from, nil); err != nil {
		t.Error(err)
	}
	want, _ := storetest.Text(t, users)
	if got, _ := storetest.Text(t, other); got != want {
		t.Errorf("the copy is\n%s\nof\n%s", got, want)
	}
}

func TestAFieldWithTheNameOfASystemColumnIsRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"xmin", "ctid", "tableoid"} {
		_, err := Open(ctx, postgresql.Shared(t).NewDatabase(t), models.NewFields(name), 0, quiet)
		expectLine(t, err, fmt.Sprintf("column name %q conflicts with a system column name", name))
	}
}

// PostgreSQL would refuse the statement of a whole batch for a text of one of its users.
func TestATextThatCannotBeStoredDoesNotJoinABatch(t *testing.T) {
	t.Parallel()
	users := openWith(t, postgresql.Shared(t).NewDatabase(t), models.NewFields("phone", "note"))
	idle := &writer{database: users.database, queries: users.writer.queries, queue: batch.NewQueue[*creation]()}
	var refused atomic.Int64
	create := func(email, field, text, want string) {
		_, err := idle.create(ctx, values(users, "name", "n", "email", email, field, text).User)
		if code := codeOf(err); code != want {
			t.Errorf("%s %q: %v", field, text, err)
		}
		refused.Add(1)
	}
	var wait sync.WaitGroup
	wait.Go(func() { create("good", "note", "é", "") })
	for _, field := range users.queries.fields.Names() {
		for i, text := range []string{"a\x00", "\xff", "\xed\xa0\x80"} {
			wait.Go(func() { create(fmt.Sprint(field, i), field, text, "22021") })
		}
	}
	await(t, "all others are refused", func() bool { return refused.Load() == 12 && len(idle.queue.Waiting()) == 1 })
	together, _ := idle.queue.Gather(<-idle.queue.Waiting(), func(*creation) bool { return false })
	idle.commitTogether(together)
	wait.Wait()
	if n, err := users.Count(ctx, models.Query{}); n != 1 || err != nil {
		t.Errorf("%d users are stored, %v", n, err)
	}
}

// codeOf returns the SQLSTATE of an error of storage.
func codeOf(err error) string {
	if failed, ok := errors.AsType[*models.StorageError](err); ok {
		return failed.Code
	}
	return ""
}
