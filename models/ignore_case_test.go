package models_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"users-api/models"
)

func TestEmailsWithoutRegardToCase(t *testing.T) {
	onEach(t, []test{
		{"an email finds its user in any letter case, also from memory", foundInAnyCase},
		{"another letter case is a duplicate, but not of the user itself", duplicateInAnyCase},
		{"only ASCII letters have a case", otherLetters},
		{"rows of a file match in any letter case", importedInAnyCase},
	}, plain(), ignoreEmailCase)
}

func foundInAnyCase(t *testing.T, s *storage) {
	for _, email := range []string{"Ada@Example.org", "ALAN", "grace"} {
		s.create(t, email)
	}
	for _, email := range []string{"Ada@Example.org", "ada@example.org", "ADA@EXAMPLE.ORG"} {
		for name, test := range map[string]struct {
			query models.Query
			want  []int64
		}{
			"alone":             {models.Query{Equal: values(s.fields, "email", email)}, []int64{1}},
			"with a search":     {models.Query{Equal: values(s.fields, "email", email), Contains: "eXAMPLE"}, []int64{1}},
			"with another":      {models.Query{Equal: values(s.fields, "email", email), Contains: "alan"}, nil},
			"after the user":    {models.Query{Equal: values(s.fields, "email", email), After: new(int64(1))}, nil},
			"with the name":     {models.Query{Equal: values(s.fields, "email", email, "name", "Ada@Example.org")}, []int64{1}},
			"a name has a case": {models.Query{Equal: values(s.fields, "email", email, "name", "ada@example.org")}, nil},
		} {
			if got := s.ids(t, test.query); !slices.Equal(got, test.want) {
				t.Errorf("%s %s: got %v, want %v", email, name, got, test.want)
			}
			s.expectCounted(t, email+" "+name, test.query)
		}
		query := models.Query{Equal: values(s.fields, "email", email), Limit: 1}
		if page := s.cachedPage(t, query); page == nil || page.Users != 1 || !strings.Contains(string(page.JSON), `"Ada@Example.org"`) {
			t.Errorf("%s: in memory is %v", email, page)
		}
	}
	if got := s.ids(t, models.Query{Equal: values(s.fields, "email", "ada@example.or")}); len(got) > 0 {
		t.Errorf("a part of an email finds %v", got)
	}
}

func duplicateInAnyCase(t *testing.T, s *storage) {
	ada, alan := s.create(t, "Ada@example.org"), s.create(t, "alan")
	s.expectSame(t, func() {
		_, err := s.Create(ctx, models.NewUser{Name: "Other", Email: "ADA@example.org"})
		expectDuplicate(t, "a creation", err)
		_, err = s.Change(ctx, alan, values(s.fields, "name", "x", "email", "ada@EXAMPLE.org"), nil)
		expectDuplicate(t, "a change", err)
	})
	const again = "ADA@example.org"
	if user, err := s.Change(ctx, ada, values(s.fields, "email", again), nil); user.Email != again || err != nil {
		t.Errorf("a user whose email gets another case is %+v, %v", user, err)
	}
}

func otherLetters(t *testing.T, s *storage) {
	// The dotless and the dotted i, s and sharp s, k and the sign of the kelvin, e with an accent, and greek ones.
	emails := []string{"i@x", "ı@x", "İ@x", "ss@x", "ß@x", "ẞ@x", "k@x", "\u212a@x", "é@x", "É@x", "σ@x", "Σ@x", "ς@x"}
	var rows []models.Values
	for i, email := range emails {
		if id := s.create(t, email); id != int64(i+1) {
			t.Errorf("%s has the id %d", email, id)
		}
		rows = append(rows, values(s.fields, "name", "imported", "email", email))
	}
	for i, email := range append(emails, "I@X", "SS@X", "K@X", "ß@X") {
		want := int64(i + 1)
		if i >= len(emails) {
			want = []int64{1, 4, 7, 5}[i-len(emails)]
		}
		if got := s.ids(t, models.Query{Equal: values(s.fields, "email", email)}); !slices.Equal(got, []int64{want}) {
			t.Errorf("%s finds %v, want %d", email, got, want)
		}
	}
	done, err := s.Import(ctx, lines(rows), models.ImportOptions{OnConflict: updates})
	if want := (models.Imported{Updated: len(emails)}); !reflect.DeepEqual(done, want) || err != nil {
		t.Errorf("an import of the same emails: %+v, %v", done, err)
	}
}

// importedInAnyCase imports rows into a table in which Ada has the id 1, Alan 2 and Grace 3.
func importedInAnyCase(t *testing.T, s *storage) {
	for _, row := range file("Ada:ada", "Alan:alan", "Grace:grace") {
		if _, err := s.Create(ctx, row.User); err != nil {
			t.Fatal(err)
		}
	}
	all := []string{ada, alan, grace}
	for _, test := range []importCase{
		{"an email that exists refuses the file", []string{"New:b", "Ada:ADA", "New:B"}, models.ImportOptions{},
			models.Imported{}, "3 duplicate, 4 repeated", all},
		{"skip leaves users that are there", []string{"X:Ada", "New:b", "Y:B"}, models.ImportOptions{OnConflict: skips, DryRun: true},
			models.Imported{Created: 1, Skipped: 2}, "", all},
		{"an email in another case alone is no change", []string{"Ada:ADA", "Ada:Ada"}, models.ImportOptions{OnConflict: updates},
			models.Imported{Skipped: 2}, "", all},
		{"update leaves the email as it is", []string{"X:ADA", "Y:Ada", "Ada:aDA"}, models.ImportOptions{OnConflict: updates},
			models.Imported{Updated: 3}, "", all},
		{"those in another case are not missing", []string{"Ada:ADA", "X:GRACE"}, becomes(1), models.Imported{Updated: 1, Skipped: 1,
			Deleted: 1, DeletedUsers: []models.DeletedUser{{ID: 2, Email: "alan"}}}, "", []string{ada, "3 X:grace"}},
	} {
		done, err := s.Import(ctx, lines(file(test.file...)), test.options)
		if !reflect.DeepEqual(done, test.done) || refusals(err) != test.refused {
			t.Errorf("%s: got %+v, %q, want %+v, %q", test.name, done, refusals(err), test.done, test.refused)
		}
		if got := s.stored(t); !slices.Equal(got, test.want) {
			t.Errorf("%s: stored are %q, want %q", test.name, got, test.want)
		}
	}
}
