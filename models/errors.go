package models

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// Refusal is why storage refuses what it could carry out. Clients see its text, and those that ask for problems its code, which
// is one of controllers.Codes.
type Refusal struct{ Code, Text string }

func (r *Refusal) Error() string { return r.Text }

func refusal(code, text string) error { return &Refusal{code, text} }

var (
	ErrNotFound = refusal("user_not_found", "User not found")
	ErrNoRoom   = refusal("no_room",
		"For a file of this size, beside those of others, too little of the disk is free: try again later")
	ErrExists     = refusal("user_exists", "The user exists, and only one who was deleted can be restored")
	ErrNotDeleted = refusal("not_deleted", "No deletion of this user is kept: there is nothing to restore")
	ErrCursorGone = refusal("cursor_gone",
		"These changes are no longer there: export all users again, and go on from its Changes-Cursor")
	ErrEmailUsed  = refusal("email_used", "Email is already used by another user")
	ErrSeveral    = refusal("email_not_unique", "Several users have this email: use the id of the one that you mean")
	ErrOtherEmail = refusal("field_invalid",
		"No user has the email in the path, so the email in the body must be the same")
)

// StorageError is a refusal or a failure of storage: the statement is to blame, or a disk, a lock or a connection. A
// response carries its text (specification, section 7).
type StorageError struct {
	Text          string // the database's own
	Code, Meaning string // the database's code, and what it means, if they are known: for the log, as Text may hold user data
	Unique        bool   // another user has a value that must be unique
	Column        string // the one that has the value, if it is one of users
	Duplicate     bool   // and it is the email
	Unknown       bool   // the database may have stored the write all the same
}

func (e *StorageError) Error() string { return e.Text }

// The failures that do not come from a database.
var (
	ErrClosed = failure("the database is closed because the service is stopping")
	// ErrReplaced: anything written from then on would be gone after a restart.
	ErrReplaced = failure("the database file was removed or replaced while the service was running: " +
		"nothing more is stored until it is restarted")
	// ErrBatchTooSlow: a batch has taken longer than it may. Nothing was stored.
	ErrBatchTooSlow = failure("the batch took too long, and nothing was stored")
	ErrNotUnique    = failure("on_conflict=skip and on_conflict=update need a users table with a unique index on email alone")
	// ErrNoEffect: the database reported success for no row. Nothing was stored.
	ErrNoEffect = failure("not stored: the write had no effect, perhaps because of a trigger of the table users")
)

func failure(text string) *StorageError { return &StorageError{Text: text, Meaning: text} }

// Unserved returns the error for a table that cannot be served.
func Unserved(why string) error {
	return &StorageError{Text: "the table users cannot be served: " + why, Meaning: "the table users cannot be served"}
}

// TempFileError returns the error of a temporary file: what failed, without the name of the file, which is gone already.
func TempFileError(err error) error {
	if err == nil {
		return nil
	}
	why := err.Error()
	if reason, ok := errors.AsType[syscall.Errno](err); ok {
		why = reason.Error()
	}
	return &StorageError{Text: "a temporary file cannot be written: " + why, Code: "spool", Meaning: why}
}

// SameValues are users who share what a unique index would allow once, so that there can be no such index.
//
// Those who share one follow each other. There is one more than [MaxListed] if there are others.
type SameValues struct {
	Why string // in a sentence behind "because"
	IDs []int64
}

func (e *SameValues) Error() string {
	ids, more := e.IDs, ""
	if len(ids) > MaxListed {
		ids, more = ids[:MaxListed], " and others"
	}
	listed := strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ", "), "[]")
	return "nothing was changed, because " + e.Why + ": change or delete all but one of each, and try again; " +
		"the users have the ids " + listed + more
}

// MaxListed is how many refused rows, and how many deleted users, an import names at most.
const MaxListed = 100
