package models

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// Change is an entry of the table users_changes: what one write has done to one user. It is stored in the transaction of
// that write, and is the one definition of that table.
type Change struct {
	// Seq is the order in which entries are written, so that those of one user are in the order of their writes. SQLite
	// never gives one twice.
	Seq     int64   `gorm:"primaryKey;autoIncrement;generated:identity;index:users_changes_user,priority:2;index:users_changes_deleted,where:op = 'deleted'"`
	Op      Op      `gorm:"not null"`
	UserID  *int64  `gorm:"index:users_changes_user,priority:1"` // NULL with OpMany
	At      int64   `gorm:"not null"`                            // in milliseconds since 1970
	By      *string // who has written: "key:NAME" or "person:NAME"; NULL where no key is needed
	Request *string // the X-Request-Id
	Before  *string // the values that the write has changed, or the whole user whom it has deleted, as an object of JSON
	After   *string // the values that it has given

	// XID is the number of the transaction on PostgreSQL, where it decides the order of the feed; on SQLite it is 0.
	XID    int64  `gorm:"column:xid;->;-:migration"`
	Cursor string `gorm:"-"` // where the entry stands in the feed
	User   *User  `gorm:"-"` // as it is when the feed is read; nil if it no longer exists, and with OpMany
}

// TableName is GORM's word for where the entries are.
func (Change) TableName() string { return "users_changes" }

// Op says what was done to a user.
type Op string

// The ops. An import that creates more than database.MaxRecorded users records one entry for them, OpMany: a client
// exports again. OpBegin is the first entry of all, which is never shown: its Request is the epoch.
const (
	OpBegin   Op = "begin"
	OpCreated Op = "created"
	OpChanged Op = "changed"
	OpDeleted Op = "deleted"
	OpMany    Op = "many"
)

// Changes are entries that follow each other, in the order of the feed.
type Changes struct {
	Entries []Change
	Next    string // the cursor after the last of them, or from which to go on if there are none
}

// AppendChanges appends the response of the feed as JSON. Who has written is for those who may know it.
func (f Fields) AppendChanges(to []byte, changes Changes, showsAuthors bool) []byte {
	to = append(to, `{"changes":[`...)
	for i := range changes.Entries {
		if i > 0 {
			to = append(to, ',')
		}
		change := &changes.Entries[i]
		to = appendChange(to, change)
		if showsAuthors {
			to = appendAuthor(to, change)
		}
		if change.User != nil {
			to = f.AppendUser(append(to, `,"user":`...), change.User)
		}
		to = append(to, '}')
	}
	return append(appendText(append(to, `],"next":`...), changes.Next), '}')
}

// AppendHistory appends the response of a user's history as JSON.
func (f Fields) AppendHistory(to []byte, entries []Change) []byte {
	to = append(to, `{"changes":[`...)
	for i := range entries {
		if i > 0 {
			to = append(to, ',')
		}
		to = appendAuthor(appendChange(to, &entries[i]), &entries[i])
		to = append(f.appendRecorded(to, &entries[i]), '}')
	}
	return append(to, "]}"...)
}

// AppendDeleted appends deleted users as JSON, as they were.
func (f Fields) AppendDeleted(to []byte, deletions []Change) []byte {
	to = append(to, '[')
	for i := range deletions {
		if i > 0 {
			to = append(to, ',')
		}
		to = f.AppendUser(to, deletions[i].User)
		to = appendText(append(to[:len(to)-1], `,"deleted_at":`...), deletions[i].Time())
		to = append(appendNullable(append(to, `,"deleted_by":`...), deletions[i].By), '}')
	}
	return append(to, ']')
}

// appendRecorded appends what an entry has of values: a creation has none.
func (f Fields) appendRecorded(to []byte, change *Change) []byte {
	if change.Before != nil {
		to = append(append(to, `,"before":`...), f.typed(*change.Before)...)
	}
	if change.After != nil {
		to = append(append(to, `,"after":`...), f.typed(*change.After)...)
	}
	return to
}

// typed returns an object of texts as the types of its fields show them. Within a text, quotes have a backslash, so that it
// has no key in it.
func (f Fields) typed(object string) string {
	for _, field := range f {
		before, after, isThere := strings.Cut(object, `"`+field.Name+`":`)
		in, text := json.NewDecoder(strings.NewReader(after)), (*string)(nil)
		if isThere && field.Type != nil && in.Decode(&text) == nil {
			object = before + `"` + field.Name + `":` + string(field.Type.append(nil, text)) + after[in.InputOffset():]
		}
	}
	return object
}

// appendChange appends what every entry has, without the bracket at the end.
func appendChange(to []byte, change *Change) []byte {
	to = appendText(append(to, `{"cursor":`...), change.Cursor)
	to = appendText(append(to, `,"op":`...), string(change.Op))
	if change.UserID != nil {
		to = strconv.AppendInt(append(to, `,"id":`...), *change.UserID, 10)
	}
	return appendText(append(to, `,"at":`...), change.Time())
}

func appendAuthor(to []byte, change *Change) []byte {
	to = appendNullable(append(to, `,"by":`...), change.By)
	return appendNullable(append(to, `,"request":`...), change.Request)
}

// Time is when the entry was written, in UTC, as "2006-01-02 15:04:05".
func (c *Change) Time() string { return time.UnixMilli(c.At).UTC().Format(time.DateTime) }
