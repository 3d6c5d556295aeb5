package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"users-api/models"
	"users-api/models/sqlite/sqlitetest"
	"users-api/models/storetest"
)

func TestATableWithoutAFieldOfTheSettingEndsTheStart(t *testing.T) {
	t.Parallel()
	path := sqlitetest.File(t, sqlitetest.Table, "ALTER TABLE users ADD COLUMN FAX")
	other := sqlitetest.Open(t, path)
	before := schema(t, other)
	want := "cannot open the database " + path + ": the table users has no columns phone, group: " +
		"run `users-api add-field phone`, `users-api add-field group`, or take what is missing out of USER_FIELDS"
	if _, err := Open(ctx, path, models.NewFields("phone", "fax", "group"), 0); err == nil || err.Error() != want {
		t.Errorf("the start: %v, want %s", err, want)
	}
	users, err := Open(ctx, path, models.NewFields("fax"), 0)
	if err != nil {
		t.Fatal(err)
	}
	_ = users.Close(ctx)
	if after := schema(t, other); after != before {
		t.Errorf("the schema was %s and is %s", before, after)
	}
}

func TestANewTableHasAColumnForEachFieldOfTheSetting(t *testing.T) {
	t.Parallel()
	fields := storetest.WithAdded(models.MostAdded)
	var texts string
	err := otherProgram(t, openWith(t, fields, 0)).QueryRow(`SELECT group_concat(name, ' ' ORDER BY cid) FROM pragma_table_info('users')
		WHERE lower(type) = 'text' AND NOT "notnull" AND dflt_value IS NULL`).Scan(&texts)
	if want := strings.Join(fields.OptionalNames(), " "); texts != want || err != nil {
		t.Errorf("its texts that may be NULL are %s, %v, want %s", texts, err, want)
	}
}

// Another program may take a column away, and add it again.
func TestATableThatLosesAFieldOfTheSettingIsAnError(t *testing.T) {
	t.Parallel()
	fields := models.NewFields("phone")
	users := openWith(t, fields, 1<<20)
	other := otherProgram(t, users)
	id := storetest.Create(t, users, "before")
	storetest.Text(t, users)
	sqlitetest.Run(t, other, "ALTER TABLE users DROP COLUMN phone")
	for what, err := range everyRequest(users, id) {
		failed, ok := errors.AsType[*models.StorageError](err)
		if !ok || failed.Text != models.MissingColumns([]string{"phone"}) || failed.Meaning != unserved {
			t.Errorf("without the column, %s: %#v", what, err)
		}
	}
	sqlitetest.Run(t, other, "ALTER TABLE users ADD COLUMN phone DEFAULT '1815'")
	if user, err := users.Get(ctx, id); err != nil || *fields.Find("phone").Value(&user.NewUser) != "1815" {
		t.Errorf("with the column again: %+v, %v", user, err)
	}
	for what, err := range everyRequest(users, id) {
		if err != nil {
			t.Errorf("with the column again, %s: %v", what, err)
		}
	}
}

func TestAGeneratedColumnIsNoFieldOfTheSetting(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"STORED", "VIRTUAL"} {
		path := sqlitetest.File(t, "CREATE TABLE users (id INTEGER PRIMARY KEY, name, email, created_at, "+
			"Phone AS (name) "+kind+")")
		_, err := Open(ctx, path, models.NewFields("phone"), 0)
		sqlitetest.ExpectCannotServe(t, kind, err,
			`SQLite cannot compile INSERT with its triggers: SQL logic error: cannot INSERT into generated column "Phone"`)
	}
}

// anyTypes is a table whose columns have each affinity (sqlite.org/datatype3.html), and values that keep their kind in some.
const anyTypes = `CREATE TABLE users (id INTEGER PRIMARY KEY, name, email UNIQUE, created_at, no_type, Some_Text VARCHAR(3),
	whole INTEGER, floating REAL, some_number NUMERIC, some_bytes BLOB)`

var anyValues = []string{"NULL", "''", "'abc'", "'007'", "' 7'", "42", "-7", "1.5", "1500000.0", "1e300", "x'616263'", "x'c3a9'",
	"x''", "'a' || char(0) || 'b'", "'abcdefgh'", "0.1 + 0.2", "1.0/3", "9223372036854775807", "2e15", "123456789012345680.0"}

func openAnyTypes(t *testing.T) (*Users, models.Fields, []map[string]string) {
	t.Helper()
	fields := models.NewFields("no_type", "some_text", "whole", "floating", "some_number", "some_bytes")
	path := filepath.Join(t.TempDir(), "users.db")
	other := sqlitetest.Open(t, path)
	sqlitetest.Run(t, other, anyTypes)
	var kinds []map[string]string
	for i, value := range anyValues {
		values := strings.Repeat(", "+value, 6)
		sqlitetest.Run(t, other, fmt.Sprintf("INSERT INTO users VALUES (%d, 'n', 'e%[1]d', ''%s)", i+1, values))
		kind := map[string]string{}
		for _, name := range fields.OptionalNames() {
			var is string
			if err := other.QueryRow("SELECT typeof("+name+") FROM users WHERE id = ?", i+1).Scan(&is); err != nil {
				t.Fatal(err)
			}
			kind[name] = is
		}
		kinds = append(kinds, kind)
	}
	users, err := Open(ctx, path, fields, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = users.Close(ctx) })
	return users, fields, kinds
}

// Whatever is stored, a value is the same text in the list, on a page, of one user, and in an export; searches find a part
// of it, and filters the whole where the comment on [queries.matching] says so.
func TestAFieldOfAnyTypeIsShownAndFoundAsText(t *testing.T) {
	t.Parallel()
	users, fields, kinds := openAnyTypes(t)
	list, version := storetest.Text(t, users)
	if again, same := storetest.Text(t, users); again != list || same != version || version == "" {
		t.Errorf("the version of the list was %q and is %q", version, same)
	}
	var exported, selected []models.User
	for user, err := range storetest.Exported(ctx, users, models.Query{}) {
		if exported = append(exported, user); err != nil {
			t.Fatal(err)
		}
	}
	for user, err := range models.Each(users.Select(ctx, models.Query{})) {
		if selected = append(selected, user); err != nil {
			t.Fatal(err)
		}
	}
	for i, kind := range kinds {
		user, err := users.Get(ctx, int64(i+1))
		if json := string(fields.AppendUser(nil, &user)); err != nil || !strings.Contains(list, json) {
			t.Errorf("%s, %v, is not in the list %s", json, err, list)
		}
		if !storetest.Same(exported[i], user) || !storetest.Same(selected[i], user) {
			t.Errorf("%+v is selected as %+v and exported as %+v", user, selected[i], exported[i])
		}
		for _, name := range fields.OptionalNames() {
			text := fields.Find(name).Value(&user.NewUser)
			if (text == nil) != (kind[name] == "null") {
				t.Errorf("%s of %s is %v", name, anyValues[i], text)
			}
			if text != nil {
				expectFound(t, users, fields, user.ID, name, *text, kind[name])
			}
		}
	}
}

// expectFound expects that a search and a filter find a text that is shown for a value of some kind.
func expectFound(t *testing.T, users *Users, fields models.Fields, id int64, name, text, kind string) {
	t.Helper()
	finds := func(query models.Query) bool {
		for user, err := range models.Each(users.Select(ctx, query)) {
			if err != nil {
				t.Fatal(err)
			}
			if user.ID == id {
				return true
			}
		}
		return false
	}
	if !finds(models.Query{Contains: text}) {
		t.Errorf("a search for %q does not find it in %s", text, name)
	}
	isNumber := kind == "integer" || kind == "real"
	want := kind == "text" || isNumber && slices.Contains([]string{"whole", "floating", "some_number"}, name)
	if got := finds(models.Query{Equal: storetest.ValuesOf(fields, name, text)}); got != want {
		t.Errorf("a filter of %s finds %q, a %s: %t", name, text, kind, got)
	}
}

// A value that a client sends is stored with the affinity of its column, and shown as it is stored.
func TestAFieldOfAnyTypeCanBeSet(t *testing.T) {
	t.Parallel()
	users, fields, _ := openAnyTypes(t)
	for _, name := range fields.OptionalNames() {
		for text, want := range map[string]string{"abc": "abc", "": "", "7": "7", "007": "007", "\x00": "\x00"} {
			if name == "floating" && text == "7" {
				want = "7.0"
			}
			if text == "007" {
				want = map[string]string{"whole": "7", "some_number": "7", "floating": "7.0"}[name]
				if want == "" {
					want = text
				}
			}
			change := storetest.ValuesOf(fields, name, text)
			user, err := users.Change(ctx, 1, change, nil)
			if err != nil || *fields.Find(name).Value(&user.NewUser) != want {
				t.Errorf("%s set to %q is %+v, %v", name, text, user, err)
			}
			if got, err := users.Get(ctx, 1); err != nil || !storetest.Same(got, user) {
				t.Errorf("%s set to %q is shown as %+v, %v", name, text, got, err)
			}
			expectWhole(t, users)
		}
	}
}
