package database

import (
	"errors"
	"slices"
	"strings"

	"gorm.io/gorm"

	"users-api/models"
)

// Triggers give updated_at the time of each insertion and change, whatever program writes. SQLite lets none change what is
// about to be written, so they write the user again, unless it has that time. CURRENT_TIMESTAMP stays the same during a
// statement. So that a write is one entry of the feed, and one of the index of searches, their triggers look at the other
// columns.

var errNoTime = errors.New("the table users has a column updated_at that is no time: name it in USER_FIELDS as it is, which " +
	"serves it as a text, or rename it")

// isTimeColumn is true of a column that updated_at can be.
const isTimeColumn = "(lower(name) = 'updated_at' AND (type LIKE '%DATE%' OR type LIKE '%TIME%') AND type NOT LIKE '%TEXT%')"

// setsSQLiteUpdatedAt reports whether the table has the triggers.
func setsSQLiteUpdatedAt(db *gorm.DB) (sets bool, err error) {
	err = db.Raw(`SELECT count(*) = 2 FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'users' COLLATE NOCASE
		AND name IN ('users_updated_at_created', 'users_updated_at_changed')`).Row().Scan(&sets)
	return sets, err
}

// addSQLiteUpdatedAt adds the column, unless it is there, and the triggers.
func addSQLiteUpdatedAt(tx *gorm.DB) error {
	before, err := addColumn(tx, sqliteDialect{}, models.UpdatedAt)
	if err != nil {
		return err
	}
	var isTime, indexed bool // by a version whose triggers would write the index twice
	err = tx.Raw("SELECT EXISTS (SELECT 1 FROM pragma_table_info('users') WHERE "+isTimeColumn+`), EXISTS (SELECT 1 FROM sqlite_schema
		WHERE name = 'users_search_changed' AND sql NOT LIKE '% AFTER UPDATE ON users WHEN %')`).Row().Scan(&isTime, &indexed)
	switch {
	case err != nil:
		return err
	case !isTime:
		return errNoTime
	case indexed:
		return errors.New("the index of searches is another version's: run `users-api index-search`, which makes it anew, and " +
			"try again")
	}
	if err := setSQLiteUpdatedAt(tx); err != nil || slices.Contains(before.columns, models.UpdatedAt) {
		return err
	}
	return tx.Exec("UPDATE users SET updated_at = created_at WHERE created_at IS NOT NULL").Error
}

// setSQLiteUpdatedAt makes the triggers, anew if they are there.
func setSQLiteUpdatedAt(tx *gorm.DB) error {
	others, err := othersDiffer(tx)
	if err != nil {
		return err
	}
	const isOld = "new.updated_at IS NOT CURRENT_TIMESTAMP"
	const set = " BEGIN UPDATE users SET updated_at = CURRENT_TIMESTAMP WHERE id = new.id; END"
	err = execute(tx,
		"DROP TRIGGER IF EXISTS users_updated_at_created", "DROP TRIGGER IF EXISTS users_updated_at_changed",
		"CREATE TRIGGER users_updated_at_created AFTER INSERT ON users WHEN "+isOld+set,
		"CREATE TRIGGER users_updated_at_changed AFTER UPDATE ON users WHEN "+isOld+" AND ("+others+")"+set)
	if err != nil {
		return err
	}
	if end, err := feedEnd(tx); err != nil || end < 0 {
		return err
	}
	if err := tx.Exec("DROP TRIGGER IF EXISTS users_changes_changed").Error; err != nil {
		return err
	}
	return recordChanged(tx)
}

// followColumns makes the triggers know a column that was added.
func followColumns(tx *gorm.DB) error {
	sets, err := setsSQLiteUpdatedAt(tx)
	if err == nil && sets {
		err = setSQLiteUpdatedAt(tx)
	}
	return err
}

// othersDiffer returns the condition that an update changes another column than updated_at.
func othersDiffer(tx *gorm.DB) (string, error) {
	var others []string
	err := tx.Raw("SELECT name FROM pragma_table_info('users') WHERE lower(name) <> 'updated_at'").Scan(&others).Error
	return differ(others), err
}

// differ returns the condition that an update changes one of some columns, also if it changes no more than the letter case
// of a text whose column ignores that.
func differ(columns []string) string {
	conditions := make([]string, len(columns))
	for i, column := range columns {
		conditions[i] = "old." + quote(column) + " IS NOT new." + quote(column) + " COLLATE BINARY"
	}
	return strings.Join(conditions, " OR ")
}
