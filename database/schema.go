package database

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"

	"users-api/models"
)

// What a start makes, and the commands that change the table users, beside running services. Nothing else changes a table
// that exists.

// prepare makes the tables that are missing, adds the columns that a table without a single user lacks, and removes what
// earlier versions have left. It returns what it has found, and logs what it has changed. Where the command to do so is
// given, all cursors are invalid afterwards.
func (d Location) prepare(tx *gorm.DB, dialect dialect, restart bool) (found storage, err error) {
	columns, err := dialect.columns(tx, "users")
	if err == nil && len(columns) == 0 {
		err = tx.AutoMigrate(&models.User{})
	}
	if err == nil {
		err = d.addToEmpty(tx, dialect)
	}
	if err == nil {
		found.table, err = dialect.describe(tx, d.Fields)
	}
	if err == nil {
		err = d.prepareChanges(tx, dialect, restart)
	}
	found.dialect = dialect
	return found, err
}

// addToEmpty adds the columns of fields to a table without a single user.
func (d Location) addToEmpty(tx *gorm.DB, dialect dialect) error {
	var users []int64
	if err := tx.Model(&models.User{}).Limit(1).Pluck("id", &users).Error; err != nil || len(users) > 0 {
		return err
	}
	added, err := addMissing(tx, dialect, d.Fields.OptionalNames())
	if err == nil && len(added) > 0 {
		d.Logger.Info("columns were added to the table users, which has no user", "columns", strings.Join(added, ", "))
	}
	return err
}

// addMissing adds the columns that the table lacks, and returns which.
func addMissing(tx *gorm.DB, dialect dialect, names []string) (added []string, err error) {
	before, err := dialect.describe(tx, nil)
	for _, name := range names {
		if err == nil && !slices.Contains(before.columns, name) {
			added, err = append(added, name), dialect.addColumn(tx, name)
		}
	}
	return added, err
}

// prepareChanges makes users_changes, and an epoch where there is none. Where nothing is to be recorded, it deletes what was.
func (d Location) prepareChanges(tx *gorm.DB, dialect dialect, restart bool) error {
	dropped, err := dialect.dropEarlier(tx)
	if err != nil {
		return err
	}
	if len(dropped) > 0 {
		d.Logger.Info("what an earlier version has made was removed", "from", "users", "removed", strings.Join(dropped, ", "))
	}
	columns, err := dialect.columns(tx, models.Change{}.TableName())
	records := d.KeepChanges > 0 || restart
	switch {
	case err != nil, len(columns) == 0 && !records:
		return err
	case len(columns) == 0:
		err = dialect.createChanges(tx)
	case !slices.Contains(columns, "user_id"):
		err = errors.New("the table users_changes is another program's: rename it, or give users-api another database")
	}
	if err == nil && records {
		err = dialect.beginEpoch(tx, restart)
	}
	if err != nil || records {
		return err
	}
	deleted := tx.Where("seq >= 0").Delete(&models.Change{}) // a later start with another CHANGES_KEEP begins a new epoch
	if deleted.RowsAffected > 1 {
		d.Logger.Warn("CHANGES_KEEP is 0: what was recorded is deleted now, with the history of every user", "help",
			"all processes of one database need the same CHANGES_KEEP")
	}
	return deleted.Error
}

// RestartChanges makes users_changes and what else a start makes, as the owner of the tables, and begins a new epoch:
// clients that keep a copy export again.
func (d Location) RestartChanges(ctx context.Context) error {
	return d.changeSchema(ctx, func(tx *gorm.DB, dialect dialect) error {
		return d.prepareChanges(tx, dialect, true)
	})
}

// AddFields adds the columns of fields, of a setting or of the model. That of updated_at is a time: users who exist get
// that of their creation.
func (d Location) AddFields(ctx context.Context, names ...string) error {
	d.Fields = fieldsWith(names...)
	return d.changeSchema(ctx, func(tx *gorm.DB, dialect dialect) error {
		added, err := addMissing(tx, dialect, names)
		for _, name := range names {
			if err == nil && !slices.Contains(added, name) {
				err = fmt.Errorf("the table users has the column %s already: nothing was changed", name)
			}
		}
		return err
	})
}

// fieldsWith returns fields with these among them, which a setting adds unless they are of the model.
func fieldsWith(names ...string) models.Fields {
	own := models.NewFields()
	return models.NewFields(slices.DeleteFunc(slices.Clone(names), func(name string) bool { return own.Find(name) != nil })...)
}

// AddUniqueFields adds the columns of fields that the table lacks, and for each a unique index of its values that are not
// empty. If users share a value, the error is [*models.SameValues].
func (d Location) AddUniqueFields(ctx context.Context, names ...string) error {
	if slices.Contains(names, models.UpdatedAt) {
		return errors.New("nothing was changed, because updated_at is a time, which many users may share")
	}
	d.Fields = fieldsWith(names...)
	return d.changeSchema(ctx, func(tx *gorm.DB, dialect dialect) error {
		before, err := dialect.describe(tx, nil)
		if err == nil {
			_, err = addMissing(tx, dialect, names)
		}
		if err == nil {
			_, err = dialect.describe(tx, d.Fields) // their types
		}
		for _, name := range names {
			index := uniqueIndex{
				name: "users_" + name + "_unique", key: quote(name), where: " WHERE " + quote(name) + " <> ''",
				shared: "some users have the same " + name,
			}
			switch {
			case err != nil:
			case slices.Contains(before.unique, name):
				err = fmt.Errorf("the table users has a unique index on the column %s already: nothing was changed", name)
			default:
				err = index.create(tx)
			}
		}
		return err
	})
}

// IgnoreEmailCase makes emails that differ only in the case of ASCII letters count as the same. If such emails exist,
// the error is [*models.SameValues].
func (d Location) IgnoreEmailCase(ctx context.Context) error {
	return d.changeSchema(ctx, func(tx *gorm.DB, dialect dialect) error {
		t, err := dialect.describe(tx, nil)
		if err != nil || t.ignoresCase {
			return err
		}
		index := uniqueIndex{
			name: "users_email_nocase", key: dialect.foldedEmail(), shared: "some emails differ only in the case of their letters",
		}
		return index.create(tx)
	})
}

// uniqueIndex is a unique index that a command creates.
type uniqueIndex struct {
	name, key, where string // in SQL; where is empty, or begins with a blank
	shared           string // says that users share a key, for [models.SameValues]
}

// create creates the index, or returns the error that names the users who share a key.
func (i uniqueIndex) create(tx *gorm.DB) error {
	same := models.SameValues{Why: i.shared}
	err := tx.Raw("SELECT id FROM users WHERE "+i.key+" IN (SELECT "+i.key+" FROM users"+i.where+
		" GROUP BY 1 HAVING count(*) > 1) ORDER BY "+i.key+", id LIMIT ?", models.MaxListed+1).Scan(&same.IDs).Error
	if err == nil && len(same.IDs) > 0 {
		err = &same
	}
	if err == nil {
		err = tx.Exec("CREATE UNIQUE INDEX " + i.name + " ON users (" + i.key + ")" + i.where).Error
	}
	return err
}

// IndexSearch makes the index of searches anew, for the fields of the database.
func (d Location) IndexSearch(ctx context.Context) error {
	if d.URL != "" {
		return d.onPostgres(ctx, func(p *postgresPool) error { return p.indexSearch(ctx, d.Fields) })
	}
	return d.changeSchema(ctx, func(tx *gorm.DB, dialect dialect) error {
		if _, err := dialect.describe(tx, d.Fields); err != nil {
			return err
		}
		return indexSQLiteSearch(tx, d.Fields)
	})
}

// DropSearchIndex removes the index of searches.
func (d Location) DropSearchIndex(ctx context.Context) error {
	return d.changeSchema(ctx, func(tx *gorm.DB, dialect dialect) error { return dialect.dropSearchIndex(tx) })
}

// changeSchema changes the schema in one transaction. The table must be one that can be served without further fields.
func (d Location) changeSchema(ctx context.Context, change func(tx *gorm.DB, dialect dialect) error) error {
	if d.URL != "" {
		return d.onPostgres(ctx, func(p *postgresPool) error { return p.changeSchema(ctx, change) })
	}
	return d.changeSQLite(ctx, change)
}

// onPostgres calls run with connections of its own.
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
