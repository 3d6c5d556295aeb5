package models_test

import (
	"slices"

	"users-api/models"
)

// addedNames are names of fields that a setting may add: keywords, names that statements use, and the longest that there
// may be.
var addedNames = []string{"group", "select", "from", "ordinality", "n", "u", "users", "rowid", "oid", "values", "set",
	"where", "table", "user", "default", "null", "text", "unnest", "returning", "excluded", "old", "new", "collate",
	"updated_at", "deleted_at", "ids", "emails", "i", "l", "c", "column1", "a_name_of_40_characters_which_is_the_most"}

// withAdded returns a table of fields with n that a setting adds, at most [models.MaxAdded].
func withAdded(n int) models.Fields { return models.NewFields(addedNames[:n]...) }

// added returns the fields that the setting adds.
func (s *storage) added() models.Fields {
	return slices.DeleteFunc(slices.Clone(s.fields), func(field *models.Field) bool { return !field.Added })
}
