package models

import (
	"errors"
	"strconv"
)

// The feed of changes is for clients that keep a copy of the users. Triggers record what any program writes to the table
// users in the table users_changes, which holds ids and no other values of users.
//
// A cursor is a place between two entries of the feed of one database. Only that database understands it.

// Change is one entry of the feed.
type Change struct {
	Cursor string
	Op     Op
	ID     int64  // of the user; 0 with OpMany
	At     string // in UTC, as "2006-01-02 15:04:05"
	User   *User  // as it is when the feed is read; nil if it no longer exists, and with OpMany
}

// Op says what was done to a user.
type Op string

// The ops. A statement that writes more than [MostRecorded] users is one entry, OpMany: a client exports again.
const (
	OpCreated Op = "created"
	OpChanged Op = "changed"
	OpDeleted Op = "deleted"
	OpMany    Op = "many"
)

const (
	// MostRecorded is how many users a statement may write before it is recorded as one entry.
	MostRecorded = 10_000
	// MostChangesBytes bounds the texts of the users in one response of the feed. What follows takes another response.
	MostChangesBytes = 1 << 20
	// PruneStep is how many old entries are deleted in one commit.
	PruneStep = 1000
)

// Changes are entries that follow each other, in commit order.
type Changes struct {
	Entries []Change
	Next    string // the cursor after the last of them
}

// AddUsers adds to each entry the user whom it names, as find returns it: nil if it no longer exists. It leaves out the entries
// after [MostChangesBytes] of users.
func (c *Changes) AddUsers(fields Fields, find func(id int64) (*User, error)) error {
	left := MostChangesBytes
	for i := range c.Entries {
		if left < 0 {
			c.Entries = c.Entries[:i]
			return nil
		}
		change := &c.Entries[i]
		c.Next = change.Cursor
		if change.Op == OpMany {
			continue
		}
		user, err := find(change.ID)
		if err != nil {
			return err
		}
		if change.User = user; user != nil {
			left -= fields.Bytes(&user.NewUser)
		}
	}
	return nil
}

var (
	// ErrNoFeed: the database does not record changes.
	ErrNoFeed = errors.New("changes are not recorded")
	// ErrCursorGone: the entries after a cursor are no longer there, or another database gave the cursor.
	ErrCursorGone = errors.New("the feed has no such cursor")
)

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
