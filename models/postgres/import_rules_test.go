//go:build postgres

package postgres

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"users-api/models"
	"users-api/models/storetest"
	"users-api/tests/postgresql"
)

// What a table's own rules do to creations one by one, they do to an import; or it is refused with the line.
func TestAnImportDoesWhatTheSameCreationsDo(t *testing.T) {
	t.Parallel()
	for name, schema := range tables {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := postgresql.Shared(t)
			target, reference := server.NewDatabase(t), server.NewDatabase(t)
			for _, emails := range []string{"a b c", "a b A", "a b a", "a bad c bad", "c"} {
				for _, url := range []string{target, reference} {
					postgresql.SQL(t, url, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
					postgresql.SQL(t, url, schema)
				}
				compareWithCreations(t, target, reference, strings.Fields(emails))
			}
		})
	}
}

func compareWithCreations(t *testing.T, target, reference string, emails []string) {
	t.Helper()
	before, rows, errs := dump(t, target), []models.NewUser{}, map[int]error{}
	created, imported := openUsers(t, reference), openUsers(t, target)
	defer created.Close(ctx)  //nolint:errcheck // the table goes now
	defer imported.Close(ctx) //nolint:errcheck // likewise
	for i, email := range emails {
		rows = append(rows, models.NewUser{Name: email, Email: email})
		if _, err := created.Create(ctx, rows[i]); err != nil {
			errs[i+2] = err
		}
	}
	done, err := imported.Import(ctx, storetest.Rows(rows...), models.ImportOptions{})
	want := before
	if len(errs) == 0 {
		want = dump(t, reference)
		if err != nil || done.Created != len(rows) {
			t.Errorf("%v: the import: %+v, %v", emails, done, err)
		}
	} else {
		expectRefused(t, err, errs)
	}
	if got := dump(t, target); got != want {
		t.Errorf("%v: after the import there is\n%s\nand not\n%s", emails, got, want)
	}
}

// expectRefused expects an import to refuse what creations have refused, by line, for the same reasons.
func expectRefused(t *testing.T, err error, errs map[int]error) {
	t.Helper()
	refused, ok := errors.AsType[*models.RefusedRows](err)
	if !ok || refused.Refused != len(errs) {
		t.Fatalf("the creations said %v, and the import %v", errs, err)
	}
	for _, row := range refused.Listed {
		want, repeated := errs[row.Line], errors.Is(row.Err, models.ErrRepeated)
		if want == nil || !repeated && row.Err.Error() != want.Error() {
			t.Errorf("the import refused %v, and the creations %v", row, errs)
		}
	}
}

// dump returns what users and the table that notes hold, without ids and times: an id that was refused is not given
// again.
func dump(t *testing.T, url string) string {
	t.Helper()
	text := postgresql.Ask(t, url, "SELECT coalesce(string_agg(concat_ws(':', name, email, created_at IS NULL), ' ' "+
		"ORDER BY id), '') FROM users")
	if postgresql.Ask(t, url, "SELECT (to_regclass('log') IS NOT NULL)::text") == "true" {
		text += " log: " + postgresql.Ask(t, url, "SELECT coalesce(string_agg(what, ' '), '') FROM log")
	}
	return text
}

// Where an email does not name one user, nothing can be said of a row whose email exists.
func TestRowsAreNotComparedWithATableWhereEmailsAreNotUnique(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"emails without an index", "emails of a partial index", "emails checked at the end",
		"emails in any letter case", "a table with partitions"} {
		url := postgresql.Shared(t).NewDatabase(t)
		postgresql.SQL(t, url, tables[name])
		users := openUsers(t, url)
		for _, conflict := range []models.Conflict{models.ConflictSkips, models.ConflictUpdates} {
			rows := storetest.Rows(models.NewUser{Name: "n", Email: "a"})
			_, err := users.Import(ctx, rows, models.ImportOptions{OnConflict: conflict})
			if !errors.Is(err, models.ErrNotUnique) {
				t.Errorf("%s: %v", name, err)
			}
		}
		expectUsers(t, url, "0")
	}
}

// Emails are compared as the table compares them, also where two of a file are one.
func TestRowsFindTheUserWhoHasTheirEmail(t *testing.T) {
	t.Parallel()
	file := []models.NewUser{
		{Name: "1", Email: "ada"}, {Name: "2", Email: "new"}, {Name: "3", Email: "ADA"}, {Name: "4", Email: "NEW"},
	}
	for name, want := range map[string]string{
		"an ordinary table":          "{3 1 0 1 [{2 gone}]} 1:ada 2:new 3:ADA 4:NEW",
		"a trigger that notes":       "{3 1 0 1 [{2 gone}]} 1:ada 2:new 3:ADA 4:NEW",
		"emails of type citext":      "{1 3 0 1 [{2 gone}]} 3:ada 4:new",
		"emails of another language": "{1 3 0 1 [{2 gone}]} 3:ada 4:new",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := postgresql.Shared(t).NewDatabase(t)
			postgresql.SQL(t, url, tables[name], "INSERT INTO users (name, email) VALUES ('Ada', 'ada'), ('gone', 'gone')")
			options := models.ImportOptions{OnConflict: models.ConflictUpdates, DeleteMissing: true, MaxDeletes: 1}
			done, err := openUsers(t, url).Import(ctx, storetest.Rows(file...), options)
			text := postgresql.Ask(t, url, "SELECT string_agg(name || ':' || email, ' ' ORDER BY id) FROM users")
			if got := fmt.Sprint(done, " ", text); got != want || err != nil {
				t.Errorf("got %s, %v, want %s", got, err, want)
			}
		})
	}
}

// A user whom a rule keeps is not said to be deleted.
func TestAUserThatIsKeptByATriggerEndsTheImport(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	postgresql.SQL(t, url, ordinary, "INSERT INTO users (name, email) VALUES ('n', 'kept'), ('n', 'gone')",
		triggerOf("BEFORE DELETE ON users FOR EACH ROW", "IF old.email = 'kept' THEN RETURN NULL; END IF; RETURN old;"))
	options := models.ImportOptions{OnConflict: models.ConflictUpdates, DeleteMissing: true, MaxDeletes: 2}
	if _, err := openUsers(t, url).Import(ctx, storetest.Rows(), options); !errors.Is(err, models.ErrIgnored) {
		t.Errorf("the import: %v", err)
	}
	expectUsers(t, url, "2")
}

// A container from scratch has no /tmp.
func TestAnImportWithoutATemporaryDirectorySaysWhatToSet(t *testing.T) {
	url := postgresql.Shared(t).NewDatabase(t)
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "gone"))
	users := openUsers(t, url)
	_, err := users.Import(ctx, storetest.ManyRows(50_000, "file", func() {}), models.ImportOptions{})
	if err == nil || !strings.Contains(err.Error(), "no such file or directory: set TMPDIR") {
		t.Errorf("the import: %v", err)
	}
	if err := os.Mkdir(os.TempDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	done, err := users.Import(ctx, storetest.ManyRows(50_000, "file", func() {}), models.ImportOptions{})
	if done.Created != 50_000 || err != nil {
		t.Error(done, err)
	}
}
