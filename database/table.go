package database

import "users-api/models"

// table is what the table users was when it was opened, which the service of the specification may have created. Each
// column in unique has a unique index of its own, of all values or of those that are not empty.
type table struct {
	columns     []string
	unique      []string
	ignoresCase bool // the unique index of the email ignores the case of ASCII letters
	indexed     bool // searches have an index
}

// Fields returns the fields of a user.
func (u *Users) Fields() models.Fields { return u.fields }

// Uniqueness returns the names of the fields of which no two users have the same value, and whether emails that differ
// only in the case of ASCII letters are the same.
func (u *Users) Uniqueness() (unique []string, ignoresCase bool) {
	return u.table.unique, u.table.ignoresCase
}
