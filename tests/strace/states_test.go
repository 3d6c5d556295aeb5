//go:build strace

package strace

import (
	"context"
	"errors"
	"fmt"

	"users-api/models"
	"users-api/models/dbfile"
)

// reopen opens a database as a service does that starts on it, and calls look.
func reopen(path string, look func(users) error) error {
	open, err := models.Database{Path: path, Fields: models.NewFields()[:2]}.Open(context.Background(), 1<<20)
	if err != nil {
		return err
	}
	defer open.Close(context.Background()) //nolint:errcheck // the file is removed
	if result, err := ask(path, "PRAGMA integrity_check"); err != nil || result != "ok" {
		return errors.Join(err, fmt.Errorf("integrity_check says %q", result))
	}
	found := users{}
	for page, err := range open.Select(context.Background(), models.Query{}) {
		if err != nil {
			return err
		}
		for _, user := range page {
			found[user.Email] = user.Name
		}
	}
	return look(found)
}

// ask returns the one value that a query of a database file has.
func ask(path, query string) (value string, err error) {
	db, err := dbfile.Open(path, dbfile.ReadWrite)
	if err != nil {
		return "", err
	}
	defer dbfile.Close(db)
	err = db.Raw(query).Row().Scan(&value)
	return value, err
}
