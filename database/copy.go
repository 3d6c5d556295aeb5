package database

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"gorm.io/gorm"

	"users-api/database/dbfile"
	"users-api/models"
)

// Copied says what a copy from a file to PostgreSQL has done.
type Copied struct {
	Users int64
	Left  []string // the columns that were not copied, because they are not in the table of fields
}

// CopyTo copies all users of a file that nothing else uses, with ids and times, to an empty table of a PostgreSQL
// database: all of them, or none.
func (d Location) CopyTo(ctx context.Context, target Location) (copied Copied, err error) {
	db, path, err := d.openUnused()
	if err != nil {
		return copied, err
	}
	defer dbfile.Close(db)
	from := db.Begin(&sql.TxOptions{ReadOnly: true})
	if from.Error != nil {
		return copied, dbfile.Explain(path, from.Error)
	}
	defer from.Rollback()
	described, err := sqliteDialect{}.describe(from, d.Fields)
	if err != nil {
		return copied, fmt.Errorf("cannot read the database %s: %w; for this file, run that without DATABASE_URL", path, err)
	}
	copied.Left = slices.DeleteFunc(described.columns, func(name string) bool { return slices.Contains(d.Fields.Columns(), name) })
	var highest, given int64 // now, and ever if SQLite remembers that
	if err := from.Raw("SELECT count(*), coalesce(max(id), 0) FROM users").Row().Scan(&copied.Users, &highest); err != nil {
		return copied, dbfile.Explain(path, err)
	}
	_ = from.Raw("SELECT seq FROM sqlite_sequence WHERE name = 'users' COLLATE NOCASE").Row().Scan(&given)

	to, err := target.Open(ctx, 0)
	if err != nil {
		return copied, err
	}
	defer to.Close(ctx) //nolint:errcheck // nothing is in progress
	err = to.pool.importing(ctx, func(tx *gorm.DB) error {
		err := execute(tx, "LOCK TABLE users IN SHARE ROW EXCLUSIVE MODE",
			"SET LOCAL users_api.copies = on") // the triggers of updated_at leave it as it is
		if err == nil {
			err = expectCount(tx, 0, "name an empty database in the URL, or delete them first")
		}
		if err == nil {
			err = newReader(described.fields).sendTo(tx, from, to.fields, copied.Users)
		}
		if err == nil {
			err = expectCount(tx, copied.Users, "look for triggers of users")
		}
		if err == nil { // the next id was never given, here or in the original
			err = tx.Exec("SELECT setval(pg_get_serial_sequence('users', 'id'), ?)", max(1, given, highest)).Error
		}
		return cmp.Or(err, dbfile.ExpectUnused(path)) // a service that has started meanwhile may have stored more users
	})
	if failed, _ := to.dialect.classify(err); isUnknown(failed) {
		return copied, fmt.Errorf("the outcome of the copy to %s is unknown: %w: copy again, which refuses a table that has users",
			target, failed)
	} else if failed != nil {
		return copied, fmt.Errorf("nothing was copied to %s: %w", target, failed)
	}
	return copied, nil
}

// openUnused opens a database file that nothing else uses, to read it, and returns where it is.
func (d Location) openUnused() (db *gorm.DB, path string, err error) {
	if _, err := os.Stat(d.Path); errors.Is(err, os.ErrNotExist) {
		return nil, "", fmt.Errorf("there is no database %s: set DATA_DIR to the directory that the service uses", d.Path)
	}
	path, err = dbfile.FollowLinks(d.Path) // SQLite's other files are beside the target
	if err == nil {
		err = cmp.Or(dbfile.ExpectUnused(path), dbfile.ExpectNoHotJournal(path))
	}
	if err != nil {
		return nil, path, err
	}
	mode := dbfile.Immutable
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		mode = dbfile.ReadOnly // a killed service left users there: SQLite creates a -shm file to read both
	}
	db, err = dbfile.Open(path, mode)
	return db, path, dbfile.Explain(path, err)
}

// sendTo creates the users that one transaction sees in another, where they have some fields.
func (r reader) sendTo(to, from *gorm.DB, fields models.Fields, total int64) error {
	// GORM would give a [models.User] with the id 0, or without a time, what the database gives a new one.
	var batch []map[string]any
	done := int64(0)
	for next, err := range r.each(from.Order("id")) {
		if err != nil {
			return err
		}
		user := *next // the values point into it
		row := map[string]any{"id": user.ID}
		for _, field := range fields {
			row[field.Name] = field.Value(&user.Profile)
		}
		fields.ShowTimes(&user)
		for _, column := range fields.Times() {
			// PostgreSQL would make a time of what is none, such as now, 1700010101 or 24:00:00.
			shown := fields.Text(&user, column)
			if _, err := time.Parse(time.DateTime, shown); err != nil && shown != "" {
				return fmt.Errorf("the %s of the user with the id %d is no time: in the file, set it to one such as "+
					"2026-01-31 12:00:00, or to NULL", column, user.ID)
			}
			row[column] = sql.NullString{String: shown, Valid: shown != ""}
		}
		batch = append(batch, row)
		if done++; len(batch) < chunkRows && done < total {
			continue
		}
		if err := to.Model(&models.User{}).Create(&batch).Error; err != nil {
			return err
		}
		batch = nil
	}
	return nil
}

// expectCount returns an error unless the table has a number of users.
func expectCount(tx *gorm.DB, want int64, hint string) error {
	var n int64
	err := tx.Model(&models.User{}).Count(&n).Error
	if err == nil && n != want {
		err = fmt.Errorf("the number of users there is %d instead of %d: %s", n, want, hint)
	}
	return err
}
