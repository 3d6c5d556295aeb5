package dbfile

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"zombiezen.com/go/sqlite"
)

// The primary result codes of SQLite that the program tells apart (sqlite.org/rescode.html).
const (
	CodeError      = int(sqlite.ResultError)
	CodeBusy       = int(sqlite.ResultBusy)
	CodeNoMemory   = int(sqlite.ResultNoMem)
	CodeReadOnly   = int(sqlite.ResultReadOnly)
	CodeInterrupt  = int(sqlite.ResultInterrupt)
	CodeIO         = int(sqlite.ResultIOErr)
	CodeCorrupt    = int(sqlite.ResultCorrupt)
	CodeFull       = int(sqlite.ResultFull)
	CodeCannotOpen = int(sqlite.ResultCantOpen)
	CodeProtocol   = int(sqlite.ResultProtocol)
	CodeNotADB     = int(sqlite.ResultNotADB)
)

// CodeUnique is the extended result code for a value that a UNIQUE constraint refuses.
const CodeUnique = int(sqlite.ResultConstraintUnique)

// Error is an error of SQLite, with its extended result code.
type Error struct {
	Text string
	Code int
}

func (e *Error) Error() string { return e.Text }

// PrimaryCode returns the primary result code that an error carries, or 0 if it is not SQLite's.
func PrimaryCode(err error) int {
	failed, ok := errors.AsType[*Error](err)
	if !ok {
		return 0
	}
	return failed.Code & 0xff
}

// failure returns an error of SQLite with the text that GORM's driver would give it: clients know that text. The
// library's innermost error is SQLite's text; the errors around it name Go calls.
func failure(err error) error {
	if err == nil {
		return nil
	}
	code, inner := int(sqlite.ErrCode(err)), err
	for errors.Unwrap(inner) != nil {
		inner = errors.Unwrap(inner)
	}
	text := fmt.Sprintf("%s (%d)", inner, code)
	if code == CodeBusy {
		text += " (SQLITE_BUSY)"
	}
	return &Error{text, code}
}

// filesToStart is how many open files startup needs at most: it worked with 25, and did not with 14.
const filesToStart = 40

// Explain turns SQLite's error from an attempt to open the database at path into a line that says what to do. If SQLite
// was not allowed to open the file, its own text is "out of memory (14)".
func Explain(path string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return tooFewFiles(path)
	}
	switch PrimaryCode(err) {
	case CodeNotADB:
		return fmt.Errorf("%s is not an SQLite database: move it away, or set DATA_DIR to another directory", path)
	case CodeCorrupt:
		return fmt.Errorf("the database %s is damaged: restore a backup, or try the .recover command of sqlite3", path)
	case CodeBusy:
		return fmt.Errorf("the database %s is locked by another program for more than %s: find it with `fuser %s`", path, BusyTimeout, path)
	case CodeCannotOpen, CodeReadOnly:
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
