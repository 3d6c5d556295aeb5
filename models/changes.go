package models

import "strconv"

// Change is one entry of the feed.
type Change struct {
	Cursor string
	Op     Op
	ID     int64  // of the user; 0 with OpMany
	At     string // in UTC, as "2006-01-02 15:04:05"
	User   *User  `gorm:"-"` // as it is when the feed is read; nil if it no longer exists, and with OpMany
}

// Op says what was done to a user.
type Op string

// The ops. A statement that writes more than database.MaxRecorded users is one entry, OpMany: a client exports again.
const (
	OpCreated Op = "created"
	OpChanged Op = "changed"
	OpDeleted Op = "deleted"
	OpMany    Op = "many"
)

// Changes are entries that follow each other, in commit order.
type Changes struct {
	Entries []Change
	Next    string // the cursor after the last of them, or from which to go on if there are none
}

// AppendChanges appends the response of the feed as JSON.
func (f Fields) AppendChanges(to []byte, changes Changes) []byte {
	to = append(to, `{"changes":[`...)
	for i := range changes.Entries {
		if i > 0 {
			to = append(to, ',')
		}
		to = f.AppendChange(to, &changes.Entries[i])
	}
	return append(appendText(append(to, `],"next":`...), changes.Next), '}')
}

// AppendChange appends an entry as JSON.
func (f Fields) AppendChange(to []byte, change *Change) []byte {
	to = appendText(append(to, `{"cursor":`...), change.Cursor)
	to = appendText(append(to, `,"op":`...), string(change.Op))
	if change.Op != OpMany {
		to = strconv.AppendInt(append(to, `,"id":`...), change.ID, 10)
	}
	to = appendText(append(to, `,"at":`...), change.At)
	if change.User != nil {
		to = f.AppendUser(append(to, `,"user":`...), change.User)
	}
	return append(to, '}')
}
