//go:build postgres

package postgres

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"users-api/models"
	"users-api/models/storetest"
	"users-api/tests/postgresql"
)

// values returns values for fields of an engine, from pairs of a field's name and its text.
func values(users *Users, pairs ...string) models.Values {
	return storetest.ValuesOf(users.queries.fields, pairs...)
}

// expectFields expects an added field's values, by the emails of all users.
func expectFields(t *testing.T, url, field, want string) {
	t.Helper()
	got := postgresql.Ask(t, url, fmt.Sprintf("SELECT string_agg(email || ':' || coalesce(%q, 'NULL'), ' ' ORDER BY id) FROM users", field))
	if got != want {
		t.Errorf("%s is %s, want %s", field, got, want)
	}
}

func TestANewTableHasTheColumnsOfAddedFields(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	openWith(t, url, models.NewFields("phone", "group"))
	want := "created_at timestamp(0) with time zone DEFAULT now(),\n    phone text,\n    \"group\" text\n);"
	if schema := postgresql.Schema(t, url); !strings.Contains(schema, want) {
		t.Errorf("%q is not in %s", want, schema)
	}
}

// unservedFields are columns of another program that the field phone cannot be served from, and what is said of them.
var unservedFields = map[string]struct{ column, says string }{
	"no column": {"mobile text", "the table users has no column phone: run `users-api add-field phone`, or take what is missing " +
		"out of USER_FIELDS"},
	"a number": {"phone integer", "the column phone of users is of type integer, and it must be text, varchar, char or citext: " +
		"change that, or take it out of USER_FIELDS"},
	"JSON":                {"phone jsonb", "the column phone of users is of type jsonb, and"},
	"one byte":            {`phone "char"`, `the column phone of users is of type "char", and`},
	"texts":               {"phone text[]", "the column phone of users is of type text[], and"},
	"a domain of numbers": {"phone number", "the column phone of users is of type integer, and"},
	"a generated text":    {"phone text GENERATED ALWAYS AS (email) STORED", "the column phone of users is generated, so that no user"},
}

const numberDomain = "CREATE DOMAIN number AS integer"

func TestAStartWithAFieldThatTheTableCannotServeSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for name, test := range unservedFields {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := postgresql.Shared(t).NewDatabase(t)
			postgresql.SQL(t, url, numberDomain, tableOf("text", "text UNIQUE", ", "+test.column))
			before := postgresql.Schema(t, url)
			_, err := Open(ctx, url, models.NewFields("phone"), 0, quiet)
			expectLine(t, err, test.says, `user "postgres"`)
			if after := postgresql.Schema(t, url); after != before {
				t.Errorf("the schema was\n%s\nand is\n%s", before, after)
			}
		})
	}
}

// Another program changes the column while the service runs.
func TestAFieldThatTheTableNoLongerServesIsAnErrorOfEachRequest(t *testing.T) {
	t.Parallel()
	for name, test := range unservedFields {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := postgresql.Shared(t).NewDatabase(t)
			postgresql.SQL(t, url, numberDomain)
			users := openWith(t, url, models.NewFields("phone"))
			id := storetest.Create(t, users, "ada")
			postgresql.SQL(t, url, "ALTER TABLE users DROP COLUMN phone, ADD COLUMN "+test.column)
			for what, call := range calls(users, id) {
				await(t, what, func() bool {
					failed, ok := errors.AsType[*models.StorageError](call())
					return ok && strings.Contains(failed.Text, test.says) && failed.Code == codeUnserved
				})
			}
			postgresql.SQL(t, url, "ALTER TABLE users DROP COLUMN IF EXISTS phone, ADD COLUMN mail text, ADD COLUMN phone text")
			expectWorking(t, users, id)
		})
	}
}

func TestAColumnOfTextsOfAnotherProgramIsServed(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"text", "varchar(20)", "varchar", "char(20)", "citext", "phrase", "text COLLATE \"C\" DEFAULT 'none'"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			url := postgresql.Shared(t).NewDatabase(t)
			postgresql.SQL(t, url, "CREATE EXTENSION citext", "CREATE DOMAIN phrase AS varchar(20) CHECK (VALUE <> 'bad')",
				tableOf("text", "text UNIQUE", ", phone "+kind),
				"INSERT INTO users (name, email, phone) VALUES ('Alan', 'alan', '+1'), ('Bob', 'bob', NULL)")
			users := openWith(t, url, models.NewFields("phone"))
			id, err := users.Create(ctx, values(users, "name", "Ada", "email", "ada", "phone", "+44 Ext").User)
			if err != nil {
				t.Fatal(err)
			}
			storetest.Create(t, users, "grace")
			options := models.ImportOptions{OnConflict: models.ConflictUpdates}
			if _, err := users.Import(ctx, storetest.RowsOf(values(users, "email", "bob", "phone", "")), options); err != nil {
				t.Error(err)
			}
			ada, err := users.Get(ctx, id)
			if text := string(users.queries.fields.AppendUser(nil, &ada)); err != nil || !strings.HasSuffix(text, `,"phone":"+44 Ext"}`) {
				t.Errorf("Ada is %s, %v", text, err)
			}
			for _, query := range []models.Query{{Equal: values(users, "phone", "+44 Ext")}, {Contains: "eXT"}} {
				if n, err := users.Count(ctx, query); n != 1 || err != nil {
					t.Errorf("%d users are found, %v", n, err)
				}
			}
			expectFields(t, url, "phone", "alan:+1 bob: ada:+44 Ext grace:NULL")
		})
	}
}

// A service without the field leaves its values alone, and another that has it again shows them.
func TestAFieldThatIsRemovedAndSetAgainHasItsValues(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	with := openWith(t, url, models.NewFields("phone"))
	id, err := with.Create(ctx, values(with, "name", "n", "email", "ada", "phone", "1").User)
	_, bob := with.Create(ctx, values(with, "name", "n", "email", "bob", "phone", "2").User)
	without := openUsers(t, url)
	_, change := without.Change(ctx, id, storetest.Values("name", "Ada", "email", "ada"), nil)
	_, imported := without.Import(ctx, storetest.Rows(models.NewUser{Name: "Bob", Email: "bob"}),
		models.ImportOptions{OnConflict: models.ConflictUpdates})
	storetest.Create(t, without, "grace")
	if err := errors.Join(err, bob, change, imported); err != nil {
		t.Fatal(err)
	}
	expectFields(t, url, "phone", "ada:1 bob:2 grace:NULL")
	want := strings.NewReplacer(`,"phone":"1"`, "", `,"phone":"2"`, "", `,"phone":null`, "")
	all, _ := storetest.Text(t, openWith(t, url, models.NewFields("phone")))
	if got, _ := storetest.Text(t, without); got != want.Replace(all) || !strings.Contains(all, `,"phone":"2"`) {
		t.Errorf("without the field the list is\n%s\nand with it\n%s", got, all)
	}
}
