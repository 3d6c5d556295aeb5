package models

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// ImportRow is a user from one row of a file.
type ImportRow struct {
	Line   int // of the file, where the row begins
	Values     // those that the row has: an update leaves the user's other fields alone
}

// ImportOptions say what an import does besides creating users. The zero value refuses a row whose email exists.
type ImportOptions struct {
	DryRun     bool     // does everything and then rolls it back
	OnConflict Conflict // what happens to a row whose email already exists, in storage or earlier in the file
	// DeleteMissing deletes the users whose email is not in the file. If there are more than MaxDeletes of them, the
	// import is refused. It needs [ConflictUpdates].
	DeleteMissing bool
	MaxDeletes    int
}

// Conflict says what happens to a row whose email already exists.
type Conflict int

const (
	ConflictFails   Conflict = iota // the import is refused
	ConflictSkips                   // the user stays as it is
	ConflictUpdates                 // the user gets the values of the row, and keeps its id and time
)

// Imported counts the users that an import created, updated and deleted. Skipped counts the rows whose user already
// exists and stays as it is. DeletedUsers are the first of the deleted users; it is nil if the import deletes none by its
// options.
type Imported struct {
	Created      int           `json:"created"`
	Updated      int           `json:"updated"`
	Skipped      int           `json:"skipped"`
	Deleted      int           `json:"deleted"`
	DeletedUsers []DeletedUser `json:"deleted_users,omitzero"`
}

// DeletedUser is a user that an import deletes, or would delete, because the file does not have it.
type DeletedUser struct {
	ID    int64  `json:"id"`
	Email string `json:"email"`
}

// MostListed is how many refused rows, and how many deleted users, an import names at most.
const MostListed = 100

// ErrRepeated: an earlier row of the file has the same email.
var ErrRepeated = errors.New("an earlier row has the same email")

// ErrNotUnique: skipping or updating on a conflict needs a table in which emails are unique.
var ErrNotUnique = &StorageError{Text: "on_conflict=skip and on_conflict=update need a users table with a unique index on " +
	"email alone"}

// RowError is why one row of a file is refused. The sequence of rows yields it for a row that it cannot read, and goes
// on with the next row; storage reports it for a row that the table does not accept.
type RowError struct {
	Line int
	Err  error
}

func (e *RowError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }
func (e *RowError) Unwrap() error { return e.Err }

// RefusedRows refuses an import because of its rows. It counts every row that cannot be imported, for any reason, so
// that a person can fix them all at once.
type RefusedRows struct {
	Listed       []*RowError // the first of these rows, in the order of the file
	Refused, All int         // how many rows are refused, out of how many
}

func (r *RefusedRows) Error() string {
	return fmt.Sprintf("%d of %d rows cannot be imported", r.Refused, r.All)
}

// Add adds a refused row.
func (r *RefusedRows) Add(row *RowError) {
	r.Refused++
	at, _ := slices.BinarySearchFunc(r.Listed, row.Line, func(listed *RowError, line int) int {
		return cmp.Compare(listed.Line, line)
	})
	if at == MostListed {
		return
	}
	r.Listed = slices.Insert(r.Listed, at, row)
	r.Listed = r.Listed[:min(len(r.Listed), MostListed)]
}

// TooManyDeletes refuses an import that would delete more users than its MaxDeletes. Users are the first of them.
type TooManyDeletes struct {
	Missing, Max int
	Users        []DeletedUser
}

func (e *TooManyDeletes) Error() string {
	return fmt.Sprintf("%d users are not in the file, and at most %d may be deleted", e.Missing, e.Max)
}
