package storetest

import (
	"iter"

	"users-api/models"
)

// Fields returns the table of the specification's fields, a name and an email. Tests that spell out sentences, statements or
// whole users pass it to what they test, so that a field that is added later does not change what they expect.
func Fields() models.Fields { return models.NewFields()[:2] }

// Same reports whether two users are equal, wherever the values of their fields are kept.
func Same(a, b models.User) bool {
	return a.ID == b.ID && a.CreatedAt == b.CreatedAt && SameValues(a.NewUser, b.NewUser)
}

// SameValues is [Same] for what a client may set.
func SameValues(a, b models.NewUser) bool {
	return Fields().Differing(&models.Values{Fields: Fields().All(), User: a}, &b) == 0
}

// Values returns values for fields, from pairs of a field's name and its text.
func Values(pairs ...string) (values models.Values) {
	fields := Fields()
	for i := 0; i < len(pairs); i += 2 {
		values.Set(fields.Find(pairs[i]), pairs[i+1])
	}
	return values
}

// Row returns a row of a file with all fields of a user.
func Row(line int, user models.NewUser) models.ImportRow {
	return models.ImportRow{Line: line, Values: models.Values{Fields: Fields().All(), User: user}}
}

// Rows are the rows of a file whose header is its first line.
func Rows(users ...models.NewUser) iter.Seq2[models.ImportRow, error] {
	return func(yield func(models.ImportRow, error) bool) {
		for i, user := range users {
			if !yield(Row(i+2, user), nil) {
				return
			}
		}
	}
}
