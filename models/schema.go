package models

import (
	"context"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"users-api/models/dbfile"
)

// The commands that change the table users, beside running services. Nothing else changes a table that exists.

// AddField adds the column of a field, of a setting or of the model.
func (d Database) AddField(ctx context.Context, name string) error {
	if d.Fields = NewFields(); d.Fields.Find(name) == nil {
		d.Fields = NewFields(name)
	}
	return d.command(ctx, nil, func(e engine) error {
		return e.changeSchema(ctx, func(tx *gorm.DB) error {
			if table, err := e.describe(tx); err != nil {
				return err
			} else if slices.Contains(table.columns, name) {
				return fmt.Errorf("the table users has the column %s already: nothing was changed", name)
			}
			return tx.Migrator().AddColumn(&User{}, name)
		})
	})
}

// IgnoreEmailCase makes emails that differ only in the case of ASCII letters count as the same. If such emails exist, the error is
// [*SameEmails].
func (d Database) IgnoreEmailCase(ctx context.Context) error {
	return d.command(ctx, nil, func(e engine) error { return e.ignoreEmailCase(ctx) })
}

// RecordChanges begins to record changes. If they are recorded already, it goes on.
func (d Database) RecordChanges(ctx context.Context) error {
	return d.command(ctx, nil, func(e engine) error {
		return e.changeSchema(ctx, func(tx *gorm.DB) error {
			if cursor, err := e.cursor(tx); cursor != "" || err != nil {
				return err
			}
			if err := e.dropFeed(tx); err != nil {
				return err
			}
			return e.createFeed(tx)
		})
	})
}

// ForgetChanges ends the recording of changes, and removes what was recorded.
func (d Database) ForgetChanges(ctx context.Context) error {
	return d.command(ctx, nil, func(e engine) error { return e.changeSchema(ctx, e.dropFeed) })
}

// IndexSearch creates the index of searches, for the fields of the database. Where there is one, SQLite makes it anew, and
// PostgreSQL adds what is missing.
func (d Database) IndexSearch(ctx context.Context) error {
	return d.command(ctx, d.Fields, func(e engine) error { return e.indexSearch(ctx, d.Fields.Names()) })
}

// DropSearchIndex removes the index of searches.
func (d Database) DropSearchIndex(ctx context.Context) error {
	return d.command(ctx, nil, func(e engine) error { return e.changeSchema(ctx, e.dropSearchIndex) })
}

// command opens the database for a command that needs the table to have the columns of some fields.
func (d Database) command(ctx context.Context, needs Fields, run func(engine) error) error {
	u := &Users{fields: needs}
	u.ended, u.endAll = context.WithCancel(context.WithoutCancel(ctx))
	defer u.endAll()
	if d.URL == "" {
		s, err := connectSQLite(d, u)
		if err != nil {
			return err
		}
		defer dbfile.Close(s.writer)
		return run(s)
	}
	p, err := connectPostgres(ctx, d, u)
	if err != nil {
		return err
	}
	defer p.close(ctx) //nolint:errcheck // nothing is in progress
	return run(p)
}
