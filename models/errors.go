package models

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	driver "github.com/glebarez/go-sqlite"
)

// The errors of this package that are not storage's own.
var (
	// ErrNotFound: no user has the given id.
	ErrNotFound = errors.New("user not found")
	// ErrClosed: the database was closed; the program is stopping.
	ErrClosed = errors.New("the database is closed because the service is stopping")
	// ErrNotStored: storage reported success and stored nothing, because the table's own rules say so.
	ErrNotStored = errors.New("the user was not stored: a rule of the users table ignored it")
	// ErrLost: the database file was removed or replaced while it was open. What is written from then on would be
	// gone after a restart.
	ErrLost = errors.New("the database file was removed or replaced while the service was running: nothing more is stored until it is restarted")
)

// SQLite's primary result codes (sqlite.org/rescode.html) that this package tells apart.
const (
	codeBusy       = 5
	codeReadOnly   = 8
	codeCorrupt    = 11
	codeCannotOpen = 14
	codeConstraint = 19
	codeNotADB     = 26

	codeConstraintTrigger = codeConstraint | 7<<8 // an extended code: a trigger raised it
)

// Code returns the extended result code of SQLite that err carries, and its meaning in SQLite's words; 0 and "" for
// an error that is not storage's. Log these and not the text of the error, which may quote a user.
func Code(err error) (code int, meaning string) {
	storage, ok := errors.AsType[*driver.Error](err)
	if !ok {
		return 0, ""
	}
	return storage.Code(), driver.ErrorCodeString[storage.Code()&0xff]
}

// IsStorage reports whether err comes from storage, so that its text is the answer (specification, section 7).
func IsStorage(err error) bool {
	code, _ := Code(err)
	return code != 0 || errors.Is(err, ErrLost) || errors.Is(err, ErrClosed) || errors.Is(err, ErrNotStored)
}

func primaryCode(err error) int {
	code, _ := Code(err)
	return code & 0xff
}

func isBusy(err error) bool { return primaryCode(err) == codeBusy }

// filesToStart is how many open files a start needs at most: a start with 25 worked, and one with 14 did not.
const filesToStart = 40

// explain turns SQLite's answer to an attempt to open path into a line that says what to do. SQLite itself says
// "out of memory (14)" where it means that it was not allowed to.
func explain(path string, err error) error {
	directory := filepath.Dir(path)
	switch primaryCode(err) {
	case codeNotADB:
		return fmt.Errorf("%s is not an SQLite database: move it away, or set DATA_DIR to another directory", path)
	case codeCorrupt:
		return fmt.Errorf("the database %s is damaged: restore a backup, or try the .recover command of sqlite3", path)
	case codeBusy:
		return fmt.Errorf("the database %s is locked by another program for more than %s: find it with `fuser %s`", path, busyTimeout, path)
	case codeCannotOpen, codeReadOnly:
		if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
			return fmt.Errorf("the database %s is a directory: move it away, or set DATA_DIR to another directory", path)
		}
		if refusal := writable(directory); refusal != nil {
			return refusal
		}
		if refusal := writable(path); refusal != nil && !errors.Is(refusal, os.ErrNotExist) {
			return refusal
		}
		return fmt.Errorf("cannot open the database %s, although it can be written: the limit of open files may be too low (`ulimit -n`; %d are enough to start)", path, filesToStart)
	}
	return fmt.Errorf("cannot open the database %s: %w", path, err)
}
