package models

import "errors"

// ErrNotFound: no user has the id.
var ErrNotFound = errors.New("user not found")

// ErrNoRoom: imports and exports that are under way take as much of the disk as they may. Others succeed later.
var ErrNoRoom = errors.New("no room for another import or export")

// StorageError is a failure of storage. Its text is what a client is told (specification, section 7).
type StorageError struct {
	// Text is the engine's own.
	Text string
	// Code and Meaning are the engine's code for the failure and what it means. They hold no data of a user, where
	// Text may: log these. Code is empty for a failure that the engine itself does not know, and Meaning may be.
	Code, Meaning string
	// Duplicate says that the email is another user's.
	Duplicate bool
}

func (e *StorageError) Error() string { return e.Text }

// The failures that are not an engine's own.
var (
	// ErrClosed: the program is stopping.
	ErrClosed = &StorageError{Text: "the database is closed because the service is stopping"}
	// ErrIgnored: storage reported success for no row, because a trigger or another rule of the table ignored the write.
	// Nothing was stored.
	ErrIgnored = &StorageError{Text: "not stored: a rule of the users table ignored it"}
	// ErrReplaced: the storage was removed or replaced while it was open. What is written from then on would be gone after
	// a restart.
	ErrReplaced = &StorageError{Text: "the database file was removed or replaced while the service was running: nothing more is stored until it is restarted"}
)
