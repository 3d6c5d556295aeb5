package models

import "errors"

// ErrNotFound: no user has the id.
var ErrNotFound = errors.New("user not found")

// ErrNoRoom: the imports and exports under way use all the disk space that they may. A later one succeeds.
var ErrNoRoom = errors.New("no room for another import or export")

// StorageError is a failure of storage. A response carries its text (specification, section 7).
type StorageError struct {
	// Text is the engine's own.
	Text string
	// Code and Meaning are the engine's code for the failure and what the code means. They hold no user data, but Text
	// may: log these two. Code is empty for a failure that the engine itself does not know, and Meaning may be empty
	// too.
	Code, Meaning string
	// Duplicate says that another user has the email.
	Duplicate bool
	// Unknown says that the engine may have stored the write all the same.
	Unknown bool
}

func (e *StorageError) Error() string { return e.Text }

// The failures that do not come from an engine.
var (
	// ErrClosed: the service is stopping.
	ErrClosed = &StorageError{Text: "the database is closed because the service is stopping"}
	// ErrIgnored: the engine reported success for zero rows, because a trigger or another rule of the table ignored the
	// write. Nothing was stored.
	ErrIgnored = &StorageError{Text: "not stored: a rule of the users table ignored it"}
	// ErrReplaced: the storage was removed or replaced while it was open. Anything written from then on would be gone
	// after a restart.
	ErrReplaced = &StorageError{Text: "the database file was removed or replaced while the service was running: nothing more is stored until it is restarted"}
)
