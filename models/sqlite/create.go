package sqlite

import (
	"errors"
	"fmt"

	"gorm.io/gorm"

	"users-api/models"
)

// newTable is the table users as this engine creates it: the model, with SQLite's type and default for the time.
// Without the parentheses the default would be text.
type newTable struct {
	models.User
	CreatedAt string `gorm:"->;type:datetime;default:(CURRENT_TIMESTAMP)"`
}

// TableName tells GORM the name.
func (newTable) TableName() string { return "users" }

// errExists ends the transaction of createTable without a commit.
var errExists = errors.New("the table exists")

// createTable creates the table users unless something of that name exists, in any letter case; it leaves that alone.
// On any difference, GORM's AutoMigrate would copy, drop and rename an existing table, and lose its indexes and
// triggers. The check and the creation share one immediate transaction, for processes that start at once.
func createTable(db *gorm.DB) error {
	err := db.Transaction(func(tx *gorm.DB) error {
		if err := proveWritable(tx); err != nil {
			return err
		}
		exists, err := hasTable(tx)
		switch {
		case err != nil:
			return err
		case exists:
			return errExists
		}
		return tx.Migrator().CreateTable(&newTable{})
	})
	if errors.Is(err, errExists) {
		return nil
	}
	return err
}

// hasTable reports whether anything is named users.
func hasTable(tx *gorm.DB) (bool, error) {
	var n int64
	err := tx.Raw("SELECT count(*) FROM sqlite_master WHERE name = 'users' COLLATE NOCASE AND type IN ('table', 'view')").Scan(&n).Error
	return n > 0, err
}

// proveWritable rewrites a value that is already there. SQLite opens a file that it may not write as read-only, without
// an error, and begins a transaction on it that takes no write lock.
func proveWritable(tx *gorm.DB) error {
	var version int64
	if err := tx.Raw("PRAGMA user_version").Scan(&version).Error; err != nil {
		return err
	}
	return tx.Exec(fmt.Sprintf("PRAGMA user_version = %d", version)).Error
}
