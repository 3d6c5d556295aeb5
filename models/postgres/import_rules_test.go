//go:build postgres

package postgres

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"users-api/models"
	"users-api/models/storetest"
	"users-api/tests/postgresql"
)

const (
	ordinary = "CREATE TABLE users (id serial PRIMARY KEY, name text, email text UNIQUE, created_at timestamptz)"
	noting   = "CREATE TABLE log (what text)"
)

// trigger returns the statements for a function and a trigger that calls it.
func trigger(when, body string) []string {
	return []string{"CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " + body + " END $$",
		"CREATE TRIGGER t " + when + " EXECUTE FUNCTION f()"}
}

func rules(statements []string, more ...string) []string { return append(statements, more...) }

// tables are tables of other programs, whose rules do something to some of the users a, b, c, A and bad.
var tables = map[string][]string{
	"an ordinary table":          {ordinary},
	"a trigger that notes":       rules([]string{ordinary, noting}, trigger("AFTER INSERT ON users FOR EACH ROW", "INSERT INTO log VALUES (new.name); RETURN NULL;")...),
	"a trigger for statements":   rules([]string{ordinary, noting}, trigger("AFTER INSERT ON users REFERENCING NEW TABLE AS n", "INSERT INTO log SELECT count(*) FROM n HAVING count(*) > 0; RETURN NULL;")...),
	"a trigger that sees tables": rules([]string{ordinary, noting}, trigger("AFTER INSERT ON users REFERENCING NEW TABLE AS n FOR EACH ROW", "INSERT INTO log SELECT count(*) FROM n; RETURN NULL;")...),
	"a trigger that changes":     rules([]string{ordinary}, trigger("BEFORE INSERT ON users FOR EACH ROW", "new.name := upper(new.name); RETURN new;")...),
	"a trigger that refuses":     rules([]string{ordinary}, trigger("BEFORE INSERT ON users FOR EACH ROW", "IF new.name = 'bad' THEN RAISE 'not him'; END IF; RETURN new;")...),
	"a trigger that ignores":     rules([]string{ordinary}, trigger("BEFORE INSERT ON users FOR EACH ROW", "IF new.name = 'bad' THEN RETURN NULL; END IF; RETURN new;")...),
	"a trigger that takes away":  rules([]string{ordinary}, trigger("AFTER INSERT ON users FOR EACH ROW", "DELETE FROM users WHERE name = 'bad'; RETURN NULL;")...),
	"a trigger that changes ids": rules([]string{ordinary}, trigger("AFTER INSERT ON users FOR EACH ROW", "UPDATE users SET id = id + 100 WHERE id = new.id; RETURN NULL;")...),
	"a rule for values":          {"CREATE TABLE users (id serial PRIMARY KEY, name text CHECK (name <> 'bad'), email text UNIQUE, created_at timestamptz)"},
	"names that are short":       {"CREATE TABLE users (id serial PRIMARY KEY, name varchar(2), email varchar(2) UNIQUE, created_at timestamp)"},
	"emails of a fixed length":   {"CREATE TABLE users (id serial PRIMARY KEY, name text, email char(2) UNIQUE, created_at timestamp)"},
	"emails without an index":    {"CREATE TABLE users (id serial PRIMARY KEY, name text, email text, created_at timestamptz)"},
	"emails of a partial index":  {"CREATE TABLE users (id serial PRIMARY KEY, name text, email text, created_at timestamptz)", "CREATE UNIQUE INDEX ON users (email) WHERE name <> 'a'"},
	"emails checked at the end":  {"CREATE TABLE users (id serial PRIMARY KEY, name text, email text UNIQUE DEFERRABLE, created_at timestamptz)"},
	"emails in any letter case":  {"CREATE TABLE users (id serial PRIMARY KEY, name text, email text, created_at timestamptz)", "CREATE UNIQUE INDEX ON users (lower(email))"},
	"emails of type citext":      {"CREATE EXTENSION citext", "CREATE TABLE users (id serial PRIMARY KEY, name text, email citext UNIQUE, created_at timestamptz)"},
	"emails of another language": {"CREATE COLLATION c (provider = icu, locale = 'und-u-ks-level2', deterministic = false)", "CREATE TABLE users (id serial PRIMARY KEY, name text, email text COLLATE c UNIQUE, created_at timestamptz)"},
	"emails of a domain":         {"CREATE DOMAIN mail AS text CHECK (VALUE <> 'bad')", "CREATE TABLE users (id serial PRIMARY KEY, name text, email mail UNIQUE, created_at timestamptz)"},
	"names that are unique":      {"CREATE TABLE users (id serial PRIMARY KEY, name text UNIQUE, email text, created_at timestamptz)"},
	"a column that is needed":    {"CREATE TABLE users (id serial PRIMARY KEY, name text, email text UNIQUE, created_at timestamptz, more text NOT NULL)"},
	"a table with partitions": {"CREATE TABLE users (id serial, name text, email text UNIQUE, created_at timestamptz) PARTITION BY LIST (email)",
		"CREATE TABLE p1 PARTITION OF users FOR VALUES IN ('a', 'b')", "CREATE TABLE p2 PARTITION OF users FOR VALUES IN ('c')"},
	"a table that others inherit": {ordinary, "CREATE TABLE more () INHERITS (users)", "INSERT INTO more (name, email) VALUES ('a', 'a')"},
	"a rule that notes":           {ordinary, noting, "CREATE RULE r AS ON INSERT TO users DO ALSO INSERT INTO log VALUES (new.name)"},
	"a view":                      {"CREATE TABLE people (id serial PRIMARY KEY, name text, email text UNIQUE, created_at timestamptz)", "CREATE VIEW users AS SELECT * FROM people"},
	"a view of a trigger": rules([]string{"CREATE TABLE people (no serial PRIMARY KEY, name text, mail text UNIQUE)",
		"CREATE VIEW users AS SELECT no AS id, name, mail AS email, NULL::timestamptz AS created_at FROM people"},
		trigger("INSTEAD OF INSERT ON users FOR EACH ROW", "INSERT INTO people (name, mail) VALUES (new.name, new.email); RETURN new;")...),
}

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
					postgresql.SQL(t, url, schema...)
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
		if want := errs[row.Line]; want == nil || !errors.Is(row.Err, models.ErrRepeated) && row.Err.Error() != want.Error() {
			t.Errorf("the import refused %v, and the creations %v", row, errs)
		}
	}
}

// dump returns what users and the table that notes hold, ids and times apart: an id that was refused is not given again.
func dump(t *testing.T, url string) string {
	t.Helper()
	text := postgresql.Ask(t, url, "SELECT coalesce(string_agg(concat_ws(':', name, email, created_at IS NULL), ' ' ORDER BY id), '') FROM users")
	if postgresql.Ask(t, url, "SELECT (to_regclass('log') IS NOT NULL)::text") == "true" {
		text += " log: " + postgresql.Ask(t, url, "SELECT coalesce(string_agg(what, ' '), '') FROM log")
	}
	return text
}

// Where an email does not name one user, nothing can be said of a row whose email exists.
func TestRowsAreNotComparedWithATableWhereEmailsAreNotUnique(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"emails without an index", "emails of a partial index", "emails checked at the end",
		"emails in any letter case", "a view", "a table with partitions"} {
		url := postgresql.Shared(t).NewDatabase(t)
		postgresql.SQL(t, url, tables[name]...)
		users := openUsers(t, url)
		for _, conflict := range []models.Conflict{models.ConflictSkips, models.ConflictUpdates} {
			rows := storetest.Rows(models.NewUser{Name: "n", Email: "a"})
			if _, err := users.Import(ctx, rows, models.ImportOptions{OnConflict: conflict}); !errors.Is(err, models.ErrNotUnique) {
				t.Errorf("%s: %v", name, err)
			}
		}
		expectUsers(t, url, "0")
	}
}

// Emails are compared as the table compares them, also where two of a file are one.
func TestRowsFindTheUserWhoHasTheirEmail(t *testing.T) {
	t.Parallel()
	file := []models.NewUser{{Name: "1", Email: "ada"}, {Name: "2", Email: "new"}, {Name: "3", Email: "ADA"}, {Name: "4", Email: "NEW"}}
	for name, want := range map[string]string{
		"an ordinary table":          "{3 1 0 1} 1:ada 2:new 3:ADA 4:NEW",
		"a trigger that notes":       "{3 1 0 1} 1:ada 2:new 3:ADA 4:NEW",
		"emails of type citext":      "{1 3 0 1} 3:ada 4:new",
		"emails of another language": "{1 3 0 1} 3:ada 4:new",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := postgresql.Shared(t).NewDatabase(t)
			postgresql.SQL(t, url, append(slices.Clone(tables[name]), "INSERT INTO users (name, email) VALUES ('Ada', 'ada'), ('gone', 'gone')")...)
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
	postgresql.SQL(t, url, append([]string{ordinary, "INSERT INTO users (name, email) VALUES ('n', 'kept'), ('n', 'gone')"},
		trigger("BEFORE DELETE ON users FOR EACH ROW", "IF old.email = 'kept' THEN RETURN NULL; END IF; RETURN old;")...)...)
	options := models.ImportOptions{OnConflict: models.ConflictUpdates, DeleteMissing: true, MaxDeletes: 2}
	if _, err := openUsers(t, url).Import(ctx, storetest.Rows(), options); !errors.Is(err, models.ErrIgnored) {
		t.Errorf("the import: %v", err)
	}
	expectUsers(t, url, "2")
}

// A container from scratch has no /tmp.
func TestAnImportWithoutATemporaryDirectorySaysWhatToSet(t *testing.T) {
	users := openUsers(t, postgresql.Shared(t).NewDatabase(t))
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "gone"))
	_, err := users.Import(ctx, manyRows(50_000, "file", func() {}), models.ImportOptions{})
	if err == nil || !strings.Contains(err.Error(), "no such file or directory: set TMPDIR") {
		t.Errorf("the import: %v", err)
	}
	if err := os.Mkdir(os.TempDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	if done, err := users.Import(ctx, manyRows(50_000, "file", func() {}), models.ImportOptions{}); done.Created != 50_000 || err != nil {
		t.Error(done, err)
	}
}
