package models

import (
	"encoding/json"
	"errors"
)

// NewUser is the part of a user that a client may set. A request body is bound into it and never into [User], so
// that no request can reach an id or a time.
type NewUser struct {
	Name  string `gorm:"not null" json:"name" binding:"required"`
	Email string `gorm:"not null;unique" json:"email" binding:"required"`
}

// User is one row of the table users (specification, section 2), and the one definition of that table.
type User struct {
	ID int64 `gorm:"primaryKey;autoIncrement" json:"id"`
	NewUser
	// CreatedAt is the time of insertion, in UTC, as "2006-01-02 15:04:05". Storage sets it: GORM's own time would
	// be stored with nanoseconds and the offset of the process. Without the parentheses the default would be a text.
	CreatedAt string `gorm:"->;type:datetime;default:(CURRENT_TIMESTAMP)" json:"created_at"`
}

// UnmarshalJSON takes the fields by their exact names, where encoding/json would take "NAME" for "name" too.
// A field that holds something else than text is a [json.UnmarshalTypeError] with the name of the field.
func (u *NewUser) UnmarshalJSON(body []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return err
	}
	if err := unmarshalText(fields, "name", &u.Name); err != nil {
		return err
	}
	return unmarshalText(fields, "email", &u.Email)
}

func unmarshalText(fields map[string]json.RawMessage, name string, into *string) error {
	text, sent := fields[name]
	if !sent {
		return nil
	}
	err := json.Unmarshal(text, into)
	if wrongType, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		wrongType.Field = name
	}
	return err
}
