package database

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"users-api/models"
)

// The commands that change the table users, beside running services. Nothing else changes a table that exists.

// AddField adds the column of a field, of a setting or of the model. That of updated_at is a time, with what sets it.
func (d Location) AddField(ctx context.Context, name string) error {
	d.Fields = fieldsWith(name)
	if name == models.UpdatedAt {
		return d.changeSchema(ctx, addSQLiteUpdatedAt, addPostgresUpdatedAt)
	}
	add := func(tx *gorm.DB, dialect dialect) error {
		before, err := addColumn(tx, dialect, name)
		if err == nil && slices.Contains(before.columns, name) {
			err = fmt.Errorf("the table users has the column %s already: nothing was changed", name)
		}
		return err
	}
	return d.changeSchema(ctx,
		func(tx *gorm.DB) error {
			if err := add(tx, sqliteDialect{}); err != nil {
				return err
			}
			return followColumns(tx)
		},
		func(tx *gorm.DB) error { return add(tx, postgresDialect{}) })
}

// fieldsWith returns fields with this one among them, which a setting adds unless it is of the model.
func fieldsWith(name string) models.Fields {
	if fields := models.NewFields(); fields.Find(name) != nil {
		return fields
	}
	return models.NewFields(name)
}

// addColumn adds the column of a field, unless it is there, and returns what the table was before.
func addColumn(tx *gorm.DB, dialect dialect, name string) (before table, err error) {
	before, err = dialect.describe(tx, nil)
	if err == nil && !slices.Contains(before.columns, name) {
		err = tx.Migrator().AddColumn(&models.User{}, name)
	}
	return before, err
}

// AddUniqueField adds the column of a field if there is none, and a unique index of its values that are not empty. If
// users share a value, the error is [*models.SameValues].
func (d Location) AddUniqueField(ctx context.Context, name string) error {
	if name == models.UpdatedAt {
		return errors.New("nothing was changed, because updated_at is a time, which many users may share")
	}
	d.Fields = fieldsWith(name)
	index := uniqueIndex{
		name: "users_" + name + "_unique", key: quote(name), where: " WHERE " + quote(name) + " <> ''",
		shared: "some users have the same " + name,
	}
	prepare := func(tx *gorm.DB, dialect dialect) error {
		before, err := addColumn(tx, dialect, name)
		if err == nil && slices.Contains(before.unique, name) {
			err = fmt.Errorf("the table users has a unique index on the column %s already: nothing was changed", name)
		}
		if err != nil {
			return err
		}
		_, err = dialect.describe(tx, models.Fields{d.Fields.Find(name)}) // its type
		return err
	}
	return d.change(ctx, nil, func(tx *gorm.DB) error {
		err := prepare(tx, sqliteDialect{})
		if err == nil {
			err = followColumns(tx)
		}
		if err == nil {
			err = createSQLiteUnique(tx, index)
		}
		return err
	}, func(p *postgresPool) error {
		err := p.changeSchema(ctx, func(tx *gorm.DB) error { return prepare(tx, postgresDialect{}) })
		if err == nil {
			err = p.buildUnique(ctx, index)
		}
		if err != nil {
			return err
		}
		return p.read(ctx, func(db *gorm.DB) error {
			table, err := postgresDialect{}.describe(db, nil)
			if err == nil && !slices.Contains(table.unique, name) {
				err = fmt.Errorf("the index %s is another program's: rename it", index.name)
			}
			return err
		})
	})
}

// IgnoreEmailCase makes emails that differ only in the case of ASCII letters count as the same. If such emails exist,
// the error is [*models.SameValues].
func (d Location) IgnoreEmailCase(ctx context.Context) error {
	index := uniqueIndex{name: "users_email_nocase", shared: "some emails differ only in the case of their letters"}
	return d.change(ctx, nil, func(tx *gorm.DB) error {
		if t, err := (sqliteDialect{}).describe(tx, nil); err != nil || t.ignoresCase {
			return err
		}
		index.key = "email COLLATE NOCASE"
		return createSQLiteUnique(tx, index)
	}, func(p *postgresPool) error {
		index.key = foldedEmail
		return p.buildUnique(ctx, index)
	})
}

// uniqueIndex is a unique index that a command creates.
type uniqueIndex struct {
	name, key, where string // in SQL; where is empty, or begins with a blank
	shared           string // says that users share a key, for [models.SameValues]
}

func (i uniqueIndex) definition() string { return i.name + " ON users (" + i.key + ")" + i.where }

// sharing returns the error that names the users who share a key, or nil if none do.
func (i uniqueIndex) sharing(db *gorm.DB) error {
	same := models.SameValues{Why: i.shared}
	err := db.Raw("SELECT id FROM users WHERE "+i.key+" IN (SELECT "+i.key+" FROM users"+i.where+
		" GROUP BY 1 HAVING count(*) > 1) ORDER BY "+i.key+", id LIMIT ?", models.MaxListed+1).Scan(&same.IDs).Error
	if err == nil && len(same.IDs) > 0 {
		err = &same
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
	return d.change(ctx, d.Fields, func(tx *gorm.DB) error { return indexSQLiteSearch(tx, d.Fields) },
		func(p *postgresPool) error { return p.indexSearch(ctx, d.Fields) })
}

// DropSearchIndex removes the index of searches.
func (d Location) DropSearchIndex(ctx context.Context) error {
	return d.changeSchema(ctx, dropSQLiteSearchIndex, dropPostgresSearchIndex)
}

// changeSchema runs the change for this kind of database in a transaction.
func (d Location) changeSchema(ctx context.Context, onSQLite, onPostgres func(tx *gorm.DB) error) error {
	return d.change(ctx, nil, onSQLite, func(p *postgresPool) error { return p.changeSchema(ctx, onPostgres) })
}

// change runs the change for this kind of database: on SQLite in a transaction, where the table has some fields. On
// PostgreSQL it may need more than one.
func (d Location) change(ctx context.Context, needs models.Fields, onSQLite func(tx *gorm.DB) error,
	onPostgres func(p *postgresPool) error,
) error {
	if d.URL == "" {
		return d.changeSQLite(ctx, needs, onSQLite)
	}
	ended, endAll := context.WithCancel(context.WithoutCancel(ctx))
	defer endAll()
	p, err := connectPostgres(ctx, d, ended)
	if err != nil {
		return err
	}
	defer p.close(ctx) //nolint:errcheck // nothing is in progress
	return onPostgres(p)
}
