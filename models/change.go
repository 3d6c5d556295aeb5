package models

// Change holds the new values of a user's fields. A nil field stays as it is.
type Change struct {
	Name, Email *string
}

// Describes reports whether the user already has the values of the change.
func (c Change) Describes(user User) bool {
	return (c.Name == nil || *c.Name == user.Name) && (c.Email == nil || *c.Email == user.Email)
}
