package storetest

import (
	"iter"

	"users-api/models"
)

// Values returns values for fields, from pairs of a field's name and its text.
func Values(pairs ...string) (values models.Values) {
	fields := models.NewFields()
	for i := 0; i < len(pairs); i += 2 {
		values.Set(fields.Find(pairs[i]), pairs[i+1])
	}
	return values
}

// Row returns a row of a file with all fields of a user.
func Row(line int, user models.NewUser) models.ImportRow {
	return models.ImportRow{Line: line, Values: models.Values{Of: models.NewFields().All(), User: user}}
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
