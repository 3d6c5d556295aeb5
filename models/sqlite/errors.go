package sqlite

import (
	"errors"
	"strconv"
	"strings"

	driver "github.com/glebarez/go-sqlite"

	"users-api/models"
	"users-api/models/sqlite/dbfile"
)

// storageError returns an error as the contract defines it: SQLite's with its own text, and any other unchanged.
func storageError(err error) error {
	failed, ok := errors.AsType[*dbfile.Error](err)
	if !ok {
		return err
	}
	return &models.StorageError{
		Text:      failed.Text,
		Code:      strconv.Itoa(failed.Code),
		Meaning:   driver.ErrorCodeString[failed.Code&0xff],
		Duplicate: failed.Code == dbfile.CodeUnique && isDuplicate(failed),
	}
}

// isDuplicate reports whether a constraint on the email alone was violated. SQLite names the columns only in its text.
func isDuplicate(err error) bool {
	text, _, _ := strings.Cut(strings.ToLower(err.Error()), " (")
	return strings.HasSuffix(text, "unique constraint failed: users.email")
}

func isBusy(err error) bool { return dbfile.PrimaryCode(err) == dbfile.CodeBusy }

// isFatal reports whether an error comes from the disk, the file or the machine. Such an error ends the transaction, or
// may have ended it, and no write is to blame.
func isFatal(err error) bool {
	switch dbfile.PrimaryCode(err) {
	case dbfile.CodeBusy, dbfile.CodeNoMemory, dbfile.CodeReadOnly, dbfile.CodeInterrupt, dbfile.CodeIO, dbfile.CodeCorrupt,
		dbfile.CodeFull, dbfile.CodeCannotOpen, dbfile.CodeProtocol, dbfile.CodeNotADB:
		return true
	}
	return false
}
