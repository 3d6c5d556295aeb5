package controllers

import "users-api/models"

// fields is the table of fields that the tests use.
var fields = models.NewFields()[:2]

// sameValues reports whether two users have the same values, wherever they are kept.
func sameValues(a, b models.NewUser) bool {
	return fields.Differing(&models.Values{Fields: fields.All(), User: a}, &b) == 0
}

// newUser returns a user with a name and an email, and no optional field.
func newUser(name, email string) models.NewUser { return models.NewUser{Name: name, Email: email} }

// The sentences that follow from the table.
const (
	required    = "Name and email are required"
	emptyCSV    = "The file is empty: its first line must name the columns, name and email among them"
	emptyNDJSON = "The file is empty: each line must be a JSON object with a name and an email"
)
