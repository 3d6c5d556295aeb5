package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	driver "github.com/glebarez/go-sqlite"
	"zombiezen.com/go/sqlite"

	"users-api/models"
)

// SQLite's primary result codes (sqlite.org/rescode.html) that this package tells apart.
const (
	codeError      = 1
	codeBusy       = 5
	codeNoMemory   = 7
	codeReadOnly   = 8
	codeInterrupt  = 9
	codeIO         = 10
	codeCorrupt    = 11
	codeFull       = 13
	codeCannotOpen = 14
	codeProtocol   = 15
	codeNotADB     = 26

	codeUnique = 2067 // an extended one
)

// coded is an error with SQLite's code: this package's, or that of GORM's driver.
type coded interface {
	error
	Code() int
}

// sqliteError is an error of SQLite.
type sqliteError struct {
	text string
	code int
}

func (e *sqliteError) Error() string { return e.text }

// Code returns the extended result code.
func (e *sqliteError) Code() int { return e.code }

// failure returns an error of SQLite with the text that GORM's driver gives it: clients know that text. The library's
// innermost error is SQLite's text; the errors around it name Go calls.
func failure(err error) error {
	if err == nil {
		return nil
	}
	code, inner := int(sqlite.ErrCode(err)), err
	for errors.Unwrap(inner) != nil {
		inner = errors.Unwrap(inner)
	}
	text := fmt.Sprintf("%s (%d)", inner, code)
	if code == codeBusy {
		text += " (SQLITE_BUSY)"
	}
	return &sqliteError{text, code}
}

// storageError returns an error as the contract defines it: SQLite's with its own text, and any other unchanged.
func storageError(err error) error {
	failed, ok := errors.AsType[coded](err)
	if !ok {
		return err
	}
	return &models.StorageError{
		Text:      failed.Error(),
		Code:      strconv.Itoa(failed.Code()),
		Meaning:   driver.ErrorCodeString[failed.Code()&0xff],
		Duplicate: failed.Code() == codeUnique && isDuplicate(failed),
	}
}

// isDuplicate reports whether a constraint on the email alone was violated. SQLite names the columns only in its text.
func isDuplicate(err error) bool {
	text, _, _ := strings.Cut(strings.ToLower(err.Error()), " (")
	return strings.HasSuffix(text, "unique constraint failed: users.email")
}

// primaryCode returns the primary result code that an error carries, or 0 if it is not SQLite's.
func primaryCode(err error) int {
	failed, ok := errors.AsType[coded](err)
	if !ok {
		return 0
	}
	return failed.Code() & 0xff
}

func isBusy(err error) bool { return primaryCode(err) == codeBusy }

// isFatal reports whether an error comes from the disk, the file or the machine. Such an error ends the transaction, or
// may have ended it, and no write is to blame.
func isFatal(err error) bool {
	switch primaryCode(err) {
	case codeBusy, codeNoMemory, codeReadOnly, codeInterrupt, codeIO, codeCorrupt, codeFull, codeCannotOpen, codeProtocol, codeNotADB:
		return true
	}
	return false
}

// filesToStart is how many open files startup needs at most: it worked with 25, and did not with 14.
const filesToStart = 40

// explain turns SQLite's error from an attempt to open path into a line that says what to do. If SQLite was not allowed
// to open the file, its own text is "out of memory (14)".
func explain(path string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return tooFewFiles(path)
	}
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
		return tooFewFiles(path) // the file can be written, and SQLite gives no other reason
	}
	return fmt.Errorf("cannot open the database %s: %w", path, err)
}

func tooFewFiles(path string) error {
	return fmt.Errorf("cannot open the database %s: the limit of open files may be too low (`ulimit -n`; %d are enough to start)", path, filesToStart)
}

// mayWrite returns nil if this process may write the database file, the files beside it, and their directory.
func mayWrite(path string) error {
	if refusal := writable(filepath.Dir(path)); refusal != nil {
		return refusal
	}
	for _, file := range []string{path, path + "-wal", path + "-shm"} {
		if refusal := writable(file); refusal != nil && !errors.Is(refusal, os.ErrNotExist) {
			return refusal
		}
	}
	return nil
}
