package storetest

import (
	"iter"
	"slices"

	"users-api/models"
)

// Fields returns the table of the specification's fields, a name and an email. Tests that spell out sentences, statements or
// whole users pass it to what they test, so that a field that is added later does not change what they expect.
func Fields() models.Fields { return models.NewFields()[:2] }

// addedNames are names of fields that a setting may add: keywords, names that the engines themselves use in statements or
// for columns, and the longest that there may be.
var addedNames = []string{"group", "select", "from", "ordinality", "n", "u", "users", "rowid", "oid", "values", "set",
	"where", "table", "user", "default", "null", "text", "unnest", "returning", "excluded", "old", "new", "collate",
	"updated_at", "deleted_at", "ids", "emails", "i", "l", "c", "column1", "a_name_of_40_characters_which_is_the_most"}

// WithAdded returns a table of fields with n that a setting adds, at most [models.MostAdded].
func WithAdded(n int) models.Fields { return models.NewFields(addedNames[:n]...) }

// Same reports whether two users are equal, wherever the values of their fields are kept.
func Same(a, b models.User) bool {
	return a.ID == b.ID && a.CreatedAt == b.CreatedAt && SameValues(a.NewUser, b.NewUser)
}

// SameValues is [Same] for what a client may set.
func SameValues(a, b models.NewUser) bool {
	fields := WithAdded(max(len(a.Added), len(b.Added)))
	return fields.Differing(&models.Values{Fields: fields.All(), User: a}, &b) == 0
}

// Values returns values for fields, from pairs of a field's name and its text.
func Values(pairs ...string) models.Values { return ValuesOf(Fields(), pairs...) }

// ValuesOf is [Values] for another table of fields.
func ValuesOf(fields models.Fields, pairs ...string) (values models.Values) {
	for i := 0; i < len(pairs); i += 2 {
		values.Set(fields.Find(pairs[i]), pairs[i+1])
	}
	return values
}

// With returns a user with other values for some fields. The user that was given keeps its own.
func With(fields models.Fields, user models.NewUser, values models.Values) models.NewUser {
	user.Added = slices.Clone(user.Added)
	for field := range fields.In(values.Fields) {
		if text := field.Value(&values.User); text != nil {
			field.Set(&user, *text)
		} else {
			field.SetNull(&user)
		}
	}
	return user
}

// Row returns a row of a file with all fields of a user.
func Row(line int, user models.NewUser) models.ImportRow {
	return models.ImportRow{Line: line, Values: models.Values{Fields: Fields().All(), User: user}}
}

// Rows are the rows of a file whose header is its first line.
func Rows(users ...models.NewUser) iter.Seq2[models.ImportRow, error] {
	rows := make([]models.Values, len(users))
	for i, user := range users {
		rows[i] = Row(0, user).Values
	}
	return RowsOf(rows...)
}

// RowsOf is [Rows] for rows that do not all have the same fields.
func RowsOf(rows ...models.Values) iter.Seq2[models.ImportRow, error] {
	return func(yield func(models.ImportRow, error) bool) {
		for i, values := range rows {
			if !yield(models.ImportRow{Line: i + 2, Values: values}, nil) {
				return
			}
		}
	}
}
