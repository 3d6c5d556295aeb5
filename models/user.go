package models

// NewUser is the part of a user that a client may set. A request body is bound to it and never to [User], so no request
// can set an id or a time.
type NewUser struct {
	Name  string `gorm:"not null" json:"name" binding:"required"`
	Email string `gorm:"not null;unique" json:"email" binding:"required"`
}

// User is one row of the table users (specification, section 2), and the one definition of that table.
type User struct {
	ID int64 `gorm:"primaryKey;autoIncrement" json:"id"`
	NewUser
	// CreatedAt is the time of insertion, in UTC, as "2006-01-02 15:04:05". Storage sets it: GORM's own time would have
	// nanoseconds and the offset of the process. Each engine defines its column type.
	CreatedAt string `gorm:"->" json:"created_at"`
}
