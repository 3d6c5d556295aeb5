package storetest

import (
	"fmt"
	"reflect"
	"testing"

	"users-api/models"
)

// expectImported expects what an import of rows did.
func (w withAdded) expectImported(t *testing.T, options models.ImportOptions, want models.Imported, rows ...models.Values) {
	t.Helper()
	if done, err := w.users.Import(ctx, RowsOf(rows...), options); !reflect.DeepEqual(done, want) || err != nil {
		t.Errorf("the import: %+v, %v, want %+v", done, err, want)
	}
}

func (w withAdded) imports(t *testing.T) {
	first := w.added()[0]
	before := w.create(t, w.user("ada", func(i int) *string { return to(fmt.Sprint("before", i)) }))
	row := func(name string, pairs ...string) models.Values {
		return ValuesOf(w.fields, append([]string{"name", name, "email", "ada"}, pairs...)...)
	}
	null := row("null")
	null.SetNull(first)
	for _, test := range []struct {
		name string
		row  models.Values
		on   models.Conflict
		want models.Imported
	}{
		{"a row without them changes none of them", row("other"), updates, models.Imported{Updated: 1}},
		{"what is there already is no change", row("other", first.Name, "before0"), updates, models.Imported{Skipped: 1}},
		{"a value of one alone is a change", row("other", first.Name, "after"), updates, models.Imported{Updated: 1}},
		{"skip changes nothing", row("skipped", first.Name, "skipped"), skips, models.Imported{Skipped: 1}},
		{"NULL is a value", null, updates, models.Imported{Updated: 1}},
		{"NULL again is no change", null, updates, models.Imported{Skipped: 1}},
		{"an empty text is not NULL", row("null", first.Name, ""), updates, models.Imported{Updated: 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w.expectImported(t, models.ImportOptions{OnConflict: test.on, DryRun: true}, test.want, test.row)
			w.expect(t, before.ID, before.NewUser)
			w.expectImported(t, models.ImportOptions{OnConflict: test.on}, test.want, test.row)
			if test.want.Updated == 1 {
				before.NewUser = With(w.fields, before.NewUser, test.row)
			}
			w.expect(t, before.ID, before.NewUser)
		})
	}
	duplicate := models.ImportOptions{}
	if _, err := w.users.Import(ctx, RowsOf(row("x", first.Name, "x")), duplicate); refusals(err) != "2 duplicate" {
		t.Errorf("a row whose email exists: %v", err)
	}
	w.expect(t, before.ID, before.NewUser)
}

// differentRows imports users of whom each has other fields: as new ones, then again with other values for other fields, and
// some of them twice.
func (w withAdded) differentRows(t *testing.T) {
	const n = 300
	want := map[string]models.NewUser{}
	rows := func(value string) (rows []models.Values) {
		for i := range n {
			row := ValuesOf(w.fields, "name", fmt.Sprint(value, i), "email", fmt.Sprint(i%(n-20)))
			for at, field := range w.added() {
				if (i+at+len(value))%3 > 0 {
					row.Set(field, fmt.Sprint(value, i, field.Name))
				}
			}
			email := row.User.Email
			want[email] = With(w.fields, want[email], row)
			rows = append(rows, row)
		}
		return rows
	}
	options := models.ImportOptions{OnConflict: updates}
	w.expectImported(t, options, models.Imported{Created: n - 20, Updated: 20}, rows("first")...)
	w.expectStored(t, want)
	w.expectImported(t, options, models.Imported{Updated: n}, rows("second!")...)
	w.expectStored(t, want)
}

// expectStored expects users by their emails.
func (w withAdded) expectStored(t *testing.T, want map[string]models.NewUser) {
	t.Helper()
	n := 0
	for user, err := range models.Each(w.users.Select(ctx, models.Query{})) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; !SameValues(user.NewUser, want[user.Email]) {
			t.Fatalf("%s is stored", w.fields.AppendUser(nil, &user))
		}
	}
	if n != len(want) {
		t.Errorf("%d users are stored, want %d", n, len(want))
	}
}
