package sqlite

import (
	"fmt"
	"strings"

	"users-api/models"
	"users-api/models/sqlite/dbfile"
	"users-api/models/statements"
)

// newTable is the table users as this engine creates it: the model, with SQLite's type and default for the time.
// Without the parentheses the default would be text.
type newTable struct {
	models.User
	CreatedAt string `gorm:"->;type:datetime;default:(CURRENT_TIMESTAMP)"`
}

// createTable creates the table users unless something of that name exists, in any letter case; it leaves that alone.
// The check and the creation share one immediate transaction, for processes that start at once.
func createTable(conn *dbfile.Connection, fields models.Fields) error {
	script, err := statements.CreateTable(dialect(), newTable{}, fields)
	if err != nil {
		return err
	}
	if err := conn.Script(beginWrite); err != nil {
		return err
	}
	defer func() { _ = conn.Script(rollBack) }() // there is nothing to roll back after a commit
	if err := proveWritable(conn); err != nil {
		return err
	}
	if exists, err := hasTable(conn); err != nil || exists {
		return err
	}
	return conn.Script(strings.Join(append(script, commit), "; "))
}

func hasTable(conn *dbfile.Connection) (bool, error) {
	n, _, err := conn.Number(anyTable)
	return n > 0, err
}

// proveWritable rewrites a value that is already there. SQLite opens a file that it may not write as read-only, without
// an error, and begins a transaction on it that takes no write lock.
func proveWritable(conn *dbfile.Connection) error {
	version, err := conn.Setting("user_version")
	if err != nil {
		return err
	}
	return conn.Script(fmt.Sprintf(setVersion, version))
}
