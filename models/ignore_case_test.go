package models_test

import (
	"reflect"
	"slices"
	"testing"

	"users-api/models"
)

func TestEmailsWithoutRegardToCase(t *testing.T) {
	onEach(t, []test{{"only ASCII letters have a case", otherLetters}}, plain(), ignoreEmailCase)
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
