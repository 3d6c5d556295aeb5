//go:build strace

package strace

import (
	"context"
	"fmt"

	"users-api/models"
	"users-api/models/dbfile"
)

var background = context.Background()

// reopen opens a database as a service does that starts on it, and calls look.
func reopen(path string, look func(*models.Users, users) error) error {
	open, err := models.Database{Path: path, Fields: models.NewFields()[:2]}.Open(background, 1<<20)
	if err != nil {
		return err
	}
	defer open.Close(background) //nolint:errcheck // the file is removed
	if err := expectIntact(path); err != nil {
		return err
	}
	found := users{}
	for page, err := range open.Select(background, models.Query{}) {
		if err != nil {
			return err
		}
		for _, user := range page {
			found[user.Email] = user.Name
		}
	}
	return look(open, found)
}

func expectIntact(path string) error {
	result, err := ask(path, "PRAGMA integrity_check")
	if err == nil && result != "ok" {
		err = fmt.Errorf("integrity_check says %s", result)
	}
	return err
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

// follow brings a list to the present as a client does that follows the feed, and returns it.
func follow(from *models.Users, start list) (users, error) {
	now, emails, cursor := users{}, map[int64]string{}, start.cursor
	for id, email := range start.emails {
		now[email], emails[id] = start.users[email], email
	}
	for {
		changes, err := from.Changes(background, cursor, 1000)
		if err != nil {
			return nil, fmt.Errorf("the cursor %s of %s: %w", cursor, start.answer, err)
		}
		for _, entry := range changes.Entries {
			delete(now, emails[entry.ID])
			if entry.User != nil {
				now[entry.User.Email], emails[entry.ID] = entry.User.Name, entry.User.Email
			}
		}
		if cursor = changes.Next; len(changes.Entries) == 0 {
			return now, nil
		}
	}
}
