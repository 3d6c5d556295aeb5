package commands

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

	"users-api/models"
)

// changeSchema changes the table users with one of two functions: the table is in a file or in PostgreSQL. Because
// nothing else changes a table that exists, it says what it will do, and when that is done, what comes next.
func changeSchema(will, done string, inFile func(database) error, inServer func(database, *slog.Logger) error) error {
	settings, database, err := databaseForCommand()
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s users in %s\n", will, database)
	if database.url != "" {
		err = inServer(database, slog.New(newHandler(os.Stderr, settings)))
	} else {
		err = inFile(database)
	}
	if failed, ok := errors.AsType[*models.StorageError](err); ok {
		return fmt.Errorf("cannot change users in %s: %w", database, failed)
	}
	if err == nil {
		fmt.Fprintln(os.Stderr, done)
	}
	return err
}
