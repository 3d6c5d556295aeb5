package storetest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"users-api/models"
)

// ignoringCase are the tests of a table with an index that ignores the case of emails. Each needs one engine.
var ignoringCase = []struct {
	name string
	run  func(*testing.T, models.Users)
}{
	{"an email finds its user in any letter case", foundInAnyCase},
	{"another letter case is a duplicate, but not of the user itself", duplicateInAnyCase},
	{"only ASCII letters have a case", otherLetters},
	{"rows of a file match in any letter case", importedInAnyCase},
	{"many rows of a file match in any letter case", manyImportedInAnyCase},
	{"an import names the first of the users that it deletes", deletedUsers},
}

// RunIgnoringCase runs the tests of a table in which two emails that differ only in the case of ASCII letters are the same.
// Open opens an engine with such a table.
func RunIgnoringCase(t *testing.T, open Open, traits Traits) {
	traits.IgnoresCase = true
	for _, test := range ignoringCase {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, open(t, Fields()))
		})
	}
	t.Run("whatever is done, the users are those of a plain model", func(t *testing.T) {
		t.Parallel()
		Random(t, open, traits, nil)
	})
}

func foundInAnyCase(t *testing.T, users models.Users) {
	for _, email := range []string{"Ada@Example.org", "ALAN", "grace"} {
		Create(t, users, email)
	}
	for _, email := range []string{"Ada@Example.org", "ada@example.org", "ADA@EXAMPLE.ORG"} {
		for name, test := range map[string]struct {
			query models.Query
			want  []int64
		}{
			"alone":             {models.Query{Equal: Values("email", email)}, []int64{1}},
			"with a search":     {models.Query{Equal: Values("email", email), Contains: "eXAMPLE"}, []int64{1}},
			"with another":      {models.Query{Equal: Values("email", email), Contains: "alan"}, nil},
			"the newest first":  {models.Query{Equal: Values("email", email), Descending: true, Limit: 1}, []int64{1}},
			"after the user":    {models.Query{Equal: Values("email", email), After: to[int64](1)}, nil},
			"with the name":     {models.Query{Equal: Values("email", email, "name", "Ada@Example.org")}, []int64{1}},
			"a name has a case": {models.Query{Equal: Values("email", email, "name", "ada@example.org")}, nil},
		} {
			if got := ids(t, users, test.query); !slices.Equal(got, test.want) {
				t.Errorf("%s %s: got %v, want %v", email, name, got, test.want)
			}
			whole := test.query
			whole.After, whole.Limit, whole.Count = nil, 0, true
			matching := int64(len(ids(t, users, whole)))
			if n, err := users.Count(ctx, test.query); n != matching || err != nil {
				t.Errorf("%s %s: %d are counted, %v", email, name, n, err)
			}
			err := users.Export(ctx, whole, func(export models.Export) error {
				if export.Total != matching {
					t.Errorf("%s %s: an export counts %d", email, name, export.Total)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
	}
	if got := ids(t, users, models.Query{Equal: Values("email", "ada@example.or")}); len(got) > 0 {
		t.Errorf("a part of an email finds %v", got)
	}
}

func duplicateInAnyCase(t *testing.T, users models.Users) {
	ada, alan := Create(t, users, "Ada@example.org"), Create(t, users, "alan")
	before, version := Text(t, users)
	_, err := users.Create(ctx, models.NewUser{Name: "Other", Email: "ADA@example.org"})
	expectDuplicate(t, err)
	_, err = users.Change(ctx, alan, Values("name", "x", "email", "ada@EXAMPLE.org"), nil)
	expectDuplicate(t, err)
	if after, now := Text(t, users); after != before || now != version {
		t.Errorf("the list was %s and is %s", before, after)
	}
	const again = "ADA@example.org"
	if user, err := users.Change(ctx, ada, Values("email", again), nil); user.Email != again || err != nil {
		t.Errorf("a user whose email gets another case is %+v, %v", user, err)
	}
	if user, err := users.Get(ctx, ada); user.Email != again || err != nil {
		t.Errorf("the user is %+v, %v", user, err)
	}
}

func otherLetters(t *testing.T, users models.Users) {
	// The dotless and the dotted i, s and sharp s, k and the sign of the kelvin, e with an accent, and greek ones.
	emails := []string{"i@x", "ı@x", "İ@x", "ss@x", "ß@x", "ẞ@x", "k@x", "\u212a@x", "é@x", "É@x", "σ@x", "Σ@x", "ς@x"}
	for _, email := range emails {
		Create(t, users, email)
	}
	rows := []models.NewUser{}
	for i, email := range emails {
		if got := ids(t, users, models.Query{Equal: Values("email", email)}); !slices.Equal(got, []int64{int64(i + 1)}) {
			t.Errorf("%s finds %v", email, got)
		}
		rows = append(rows, models.NewUser{Name: "imported", Email: email})
	}
	for email, want := range map[string]int64{"I@X": 1, "SS@X": 4, "K@X": 7, "ß@X": 5} {
		if got := ids(t, users, models.Query{Equal: Values("email", email)}); !slices.Equal(got, []int64{want}) {
			t.Errorf("%s finds %v", email, got)
		}
	}
	done, err := users.Import(ctx, Rows(rows...), models.ImportOptions{OnConflict: updates})
	if want := (models.Imported{Updated: len(emails)}); !reflect.DeepEqual(done, want) || err != nil {
		t.Errorf("an import of the same emails: %+v, %v", done, err)
	}
}

// importedInAnyCase imports rows into a table in which Ada has the id 1, Alan 2 and Grace 3.
func importedInAnyCase(t *testing.T, users models.Users) {
	for _, user := range file("Ada:ada", "Alan:alan", "Grace:grace") {
		if _, err := users.Create(ctx, user); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name    string
		file    []string
		options models.ImportOptions
		done    models.Imported
		refused string
		want    []string
	}{
		{"an email that exists refuses the file", []string{"New:b", "Ada:ADA", "New:B"}, models.ImportOptions{},
			models.Imported{}, "3 duplicate, 4 repeated", []string{ada, alan, grace}},
		{"skip leaves those who are there", []string{"X:Ada", "New:b", "Y:B"},
			models.ImportOptions{OnConflict: skips, DryRun: true},
			models.Imported{Created: 1, Skipped: 2}, "", []string{ada, alan, grace}},
		{"an email in another case alone is no change", []string{"Ada:ADA", "Ada:Ada"}, models.ImportOptions{OnConflict: updates},
			models.Imported{Skipped: 2}, "", []string{ada, alan, grace}},
		{"update leaves the email as it is", []string{"X:ADA", "Y:Ada", "Ada:aDA"}, models.ImportOptions{OnConflict: updates},
			models.Imported{Updated: 3}, "", []string{ada, alan, grace}},
		{"those in another case are not missing", []string{"Ada:ADA", "X:GRACE"},
			models.ImportOptions{OnConflict: updates, DeleteMissing: true, MaxDeletes: 1},
			models.Imported{Updated: 1, Skipped: 1, Deleted: 1, DeletedUsers: []models.DeletedUser{{ID: 2, Email: "alan"}}}, "",
			[]string{ada, "3 X:grace"}},
	} {
		done, err := users.Import(ctx, Rows(file(test.file...)...), test.options)
		if !reflect.DeepEqual(done, test.done) || refusals(err) != test.refused {
			t.Errorf("%s: got %+v, %q, want %+v, %q", test.name, done, refusals(err), test.done, test.refused)
		}
		if got := stored(t, users); !slices.Equal(got, test.want) {
			t.Errorf("%s: stored are %q, want %q", test.name, got, test.want)
		}
	}
}

// manyImportedInAnyCase imports more rows than one statement stores, some of them twice, and then again in another case.
func manyImportedInAnyCase(t *testing.T, users models.Users) {
	const n = 3000
	rows := func(name, letters string) (rows []models.NewUser) {
		for i := range n {
			rows = append(rows, models.NewUser{Name: name, Email: fmt.Sprint(letters, i)})
		}
		return append(rows, models.NewUser{Name: "twice", Email: "uSER7"}, models.NewUser{Name: "twice", Email: "USEr2999"})
	}
	options := models.ImportOptions{OnConflict: updates}
	for _, test := range []struct {
		rows []models.NewUser
		want models.Imported
	}{
		{rows("first", "User"), models.Imported{Created: n, Updated: 2}},
		{rows("second", "USER"), models.Imported{Updated: n + 2}},
		{rows("second", "user"), models.Imported{Updated: 4, Skipped: n - 2}},
	} {
		if done, err := users.Import(ctx, Rows(test.rows...), options); !reflect.DeepEqual(done, test.want) || err != nil {
			t.Errorf("got %+v, %v, want %+v", done, err, test.want)
		}
	}
	found := 0
	for user, err := range models.Each(users.Select(ctx, models.Query{})) {
		if found++; err != nil || !strings.HasPrefix(user.Email, "User") {
			t.Fatalf("%+v is stored, %v", user, err)
		}
	}
	if found != n {
		t.Errorf("%d users are stored", found)
	}
}
