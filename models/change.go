package models

// Change is what becomes of a user. A field that is nil stays as it is.
type Change struct {
	Name, Email *string
}

// Describes reports whether the user is as the change wants it.
func (c Change) Describes(user User) bool {
	return (c.Name == nil || *c.Name == user.Name) && (c.Email == nil || *c.Email == user.Email)
}
