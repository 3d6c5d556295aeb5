// Package models is what a user is: the GORM model, its one table of fields, its JSON, what can be asked and changed,
// what can go wrong. It opens no database.
package models

// Profile is the part of a user that a client may set: a request body is bound to it (in [Values]) and never to [User],
// so no request can set an id or a time. Each field has an entry in [NewFields]: CONTRIBUTING.md shows how to add one.
type Profile struct {
	Name  string `gorm:"not null"`
	Email string `gorm:"not null;unique"`
	// Added are the values of the fields that a setting adds, or nil while all are NULL: GORM sees them by
	// addColumns in database/users.go.
	Added []*string `gorm:"-"`
}

// NewFields returns the table of fields, in the order in which they are shown. A setting adds those with names. An
// optional field that every service has is an entry here and a column above. A required one also needs lines in
// web/page/index.html and web/openapi.yaml, and a value for the users who exist.
func NewFields(names ...string) Fields {
	fields := append(Fields{
		required("name", func(u *Profile) *string { return &u.Name }),
		unique(required("email", func(u *Profile) *string { return &u.Email })),
	}, added(names)...)
	for i, field := range fields {
		field.Bit, field.key = 1<<i, `,"`+field.Name+`":`
	}
	return fields
}

// User is one row of the table users (specification, section 2), and the one definition of that table.
type User struct {
	ID int64 `gorm:"primaryKey;autoIncrement;generated:identity"`
	Profile
	// CreatedAt is the time of insertion, in UTC, as "2006-01-02 15:04:05". On PostgreSQL the column is a
	// timestamptz(0).
	CreatedAt string `gorm:"type:datetime;default:(CURRENT_TIMESTAMP)"`

	SortKey string `gorm:"-"` // the Key of its Place: what the query that has read it compares
}

// Place returns where a user stands in the order of the query that has read it.
func (u *User) Place() Place { return Place{u.SortKey, u.ID} }
