package database

import (
	"context"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"users-api/models"
)

// The commands that change the table users, beside running services. Nothing else changes a table that exists.

// AddField adds the column of a field, of a setting or of the model.
func (d Location) AddField(ctx context.Context, name string) error {
	if d.Fields = models.NewFields(); d.Fields.Find(name) == nil {
		d.Fields = models.NewFields(name)
	}
	return d.changeSchema(ctx,
		func(tx *gorm.DB) error { return addColumn(tx, sqliteDialect{}, name) },
		func(tx *gorm.DB) error { return addColumn(tx, postgresDialect{}, name) })
}

func addColumn(tx *gorm.DB, dialect dialect, name string) error {
	if table, err := dialect.describe(tx, nil); err != nil {
		return err
	} else if slices.Contains(table.columns, name) {
		return fmt.Errorf("the table users has the column %s already: nothing was changed", name)
	}
	return tx.Migrator().AddColumn(&models.User{}, name)
}

// IgnoreEmailCase makes emails that differ only in the case of ASCII letters count as the same. If such emails exist,
// the error is [*models.SameEmails].
func (d Location) IgnoreEmailCase(ctx context.Context) error {
	var same []int64
	var err error
	if d.URL == "" {
		err = d.changeSQLite(ctx, nil, func(tx *gorm.DB) (err error) {
			same, err = ignoreSQLiteEmailCase(tx)
			return err
		})
	} else {
		err = d.onPostgres(ctx, func(p *postgresPool) (err error) {
			same, err = p.ignoreEmailCase(ctx)
			return err
		})
	}
	if err == nil && len(same) > 0 {
		return &models.SameEmails{IDs: same}
	}
	return err
}

// RecordChanges begins to record changes. If they are recorded already, it goes on.
func (d Location) RecordChanges(ctx context.Context) error {
	return d.changeSchema(ctx, recordSQLiteChanges, recordPostgresChanges)
}

// ForgetChanges ends the recording of changes, and removes what was recorded.
func (d Location) ForgetChanges(ctx context.Context) error {
	return d.changeSchema(ctx, forgetSQLiteChanges, forgetPostgresChanges)
}

// IndexSearch creates the index of searches, for the fields of the database. Where there is one, SQLite makes it anew,
// and PostgreSQL adds what is missing.
func (d Location) IndexSearch(ctx context.Context) error {
	if d.URL == "" {
		return d.changeSQLite(ctx, d.Fields, func(tx *gorm.DB) error { return indexSQLiteSearch(tx, d.Fields.Names()) })
	}
	return d.onPostgres(ctx, func(p *postgresPool) error { return p.indexSearch(ctx, d.Fields.Names()) })
}

// DropSearchIndex removes the index of searches.
func (d Location) DropSearchIndex(ctx context.Context) error {
	return d.changeSchema(ctx, dropSQLiteSearchIndex, dropPostgresSearchIndex)
}

// changeSchema runs the change for this kind of database in a transaction.
func (d Location) changeSchema(ctx context.Context, onSQLite, onPostgres func(tx *gorm.DB) error) error {
	if d.URL == "" {
		return d.changeSQLite(ctx, nil, onSQLite)
	}
	return d.onPostgres(ctx, func(p *postgresPool) error { return p.changeSchema(ctx, onPostgres) })
}

// onPostgres connects to the server for a command.
func (d Location) onPostgres(ctx context.Context, run func(p *postgresPool) error) error {
	ended, endAll := context.WithCancel(context.WithoutCancel(ctx))
	defer endAll()
	p, err := connectPostgres(ctx, d, ended)
	if err != nil {
		return err
	}
	defer p.close(ctx) //nolint:errcheck // nothing is in progress
	return run(p)
}
