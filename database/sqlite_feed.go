package database

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"gorm.io/gorm"

	"users-api/models"
)

// On SQLite one transaction writes at a time, so the keys of the feed's entries are in commit order, and a key serves
// as a cursor. SQLite never uses a key twice (AUTOINCREMENT). The first key is random, so that a cursor of another
// feed, such as that of a database that was restored since, is hardly ever among them. The triggers are part of the
// database, so the SQLite of any program that writes runs them: they use nothing newer than SQLite 3.8. REPLACE removes
// users without the triggers of deletions.

// firstKey is the lowest key of an entry: an end below it means that another program has made SQLite forget the
// highest.
const firstKey = 1 << 40

// thisMoment is the same for all rows of a statement (sqlite.org/lang_datefunc.html), in milliseconds since 1970.
const thisMoment = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"

// firstChange stores the entry at which a feed begins, which is never shown. JavaScript can count on from its key.
func firstChange() string {
	return fmt.Sprintf("INSERT INTO users_changes (cursor, op, at) VALUES (%d, 'begin', %s)",
		firstKey+rand.Int64N(1<<52), thisMoment)
}

// recordSQLiteChanges creates the table and the triggers, unless changes are recorded. The rows of a statement have the
// same time. Once there are too many of them, one entry takes their place, and each further row takes the place of that
// entry: a client that has seen it sees it again.
func recordSQLiteChanges(tx *gorm.DB) error {
	if cursor, err := (sqliteDialect{}).cursor(tx); cursor != "" || err != nil {
		return err
	}
	if err := forgetSQLiteChanges(tx); err != nil {
		return err
	}
	created, deleted := record(models.OpCreated, "new.id"), record(models.OpDeleted, "old.id")
	err := execute(tx,
		`CREATE TABLE users_changes (
			cursor INTEGER PRIMARY KEY AUTOINCREMENT, op TEXT NOT NULL, id INTEGER, at INTEGER NOT NULL)`,
		firstChange(),
		"CREATE TRIGGER users_changes_created AFTER INSERT ON users BEGIN "+created+"END",
		"CREATE TRIGGER users_changes_moved AFTER UPDATE ON users WHEN new.id <> old.id BEGIN "+deleted+created+"END",
		"CREATE TRIGGER users_changes_deleted AFTER DELETE ON users BEGIN "+deleted+"END",
		fmt.Sprintf("CREATE TRIGGER users_changes_many AFTER INSERT ON users_changes "+
			"WHEN new.at = (SELECT at FROM users_changes WHERE cursor = new.cursor - %[1]d) "+
			"OR '%[2]s' = (SELECT op FROM users_changes WHERE cursor = new.cursor - 1 AND at = new.at) "+
			"BEGIN DELETE FROM users_changes WHERE cursor BETWEEN new.cursor - %[1]d AND new.cursor - 1; "+
			"UPDATE users_changes SET op = '%[2]s', id = NULL WHERE cursor = new.cursor; END", MaxRecorded, models.OpMany))
	if err != nil {
		return err
	}
	return recordChanged(tx)
}

// record returns the statement of a trigger that records what was done to a user.
func record(op models.Op, id string) string {
	return fmt.Sprintf("INSERT INTO users_changes (op, id, at) VALUES ('%s', %s, %s); ", op, id, thisMoment)
}

// recordChanged makes the trigger that records changes of users. What the triggers of updated_at write is none.
func recordChanged(tx *gorm.DB) error {
	isChange := "new.id = old.id"
	isSet, err := setsSQLiteUpdatedAt(tx)
	if err == nil && isSet {
		var others string
		others, err = othersDiffer(tx)
		isChange += " AND (new.updated_at IS old.updated_at OR " + others + ")"
	}
	if err != nil {
		return err
	}
	return tx.Exec("CREATE TRIGGER users_changes_changed AFTER UPDATE ON users WHEN " + isChange + " BEGIN " +
		record(models.OpChanged, "new.id") + "END").Error
}

func forgetSQLiteChanges(tx *gorm.DB) error {
	const isForeign = "(SELECT group_concat(name) FROM pragma_table_xinfo('users_changes')) IS NOT 'cursor,op,id,at'"
	if err := expectOwn(tx, "users_changes", isForeign); err != nil {
		return err
	}
	return dropOwn(tx, "users_changes", "users_changes_created", "users_changes_changed", "users_changes_moved",
		"users_changes_deleted", "users_changes_inserting", "users_changes_updating") // the last two of earlier versions
}

// BeginFeedAgain makes all cursors invalid, if there is a feed: clients have not seen the users of a database that is
// restored.
func BeginFeedAgain(db *gorm.DB) error {
	if end, err := feedEnd(db); err != nil || end < 0 {
		return err
	}
	return db.Transaction(func(tx *gorm.DB) error {
		return execute(tx, "DELETE FROM users_changes",
			"DELETE FROM sqlite_sequence WHERE name = 'users_changes'", firstChange())
	})
}

// feedEnd returns the highest key that the feed has given, or -1 without a feed.
func feedEnd(db *gorm.DB) (end int64, err error) {
	exists := false
	err = db.Raw(`SELECT EXISTS (SELECT 1 FROM sqlite_schema
		WHERE name = 'users_changes' AND sql LIKE '%AUTOINCREMENT%')`).Row().Scan(&exists)
	if err != nil || !exists {
		return -1, err
	}
	err = db.Raw("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'users_changes'").Row().Scan(&end)
	return end, err
}

func (sqliteDialect) cursor(tx *gorm.DB) (string, error) {
	end, err := feedEnd(tx)
	if err != nil || end < firstKey {
		return "", err
	}
	return strconv.FormatInt(end, 10), nil
}

func (sqliteDialect) changes(tx *gorm.DB, after string, limit int) (changes models.Changes, err error) {
	end, err := feedEnd(tx)
	switch {
	case err != nil:
		return changes, err
	case end < 0:
		return changes, models.ErrNoFeed
	case end < firstKey: // until it begins again
		return changes, models.ErrCursorGone
	}
	var begin int64 // it is the end if another program has emptied the table
	if err = tx.Raw("SELECT coalesce(min(cursor) - 1, ?) FROM users_changes", end).Row().Scan(&begin); err != nil {
		return changes, err
	}
	from := begin
	if after != "" {
		from, err = strconv.ParseInt(after, 10, 64)
		if err != nil || from < begin || from > end || strconv.FormatInt(from, 10) != after {
			return changes, models.ErrCursorGone
		}
	}
	changes.Next = strconv.FormatInt(end, 10)
	err = tx.Raw(`SELECT cursor, op, id, datetime(at / 1000, 'unixepoch') AS at FROM users_changes
		WHERE cursor > ? AND op <> 'begin' ORDER BY cursor LIMIT ?`, from, limit).Scan(&changes.Entries).Error
	return changes, err
}

// prune deletes up to the first young entry, and never the newest. One from the future was written while the clock was
// ahead.
func (sqliteDialect) prune(tx *gorm.DB, before time.Time) (int64, error) {
	end, err := feedEnd(tx)
	switch {
	case err != nil || end < 0:
		return 0, err
	case end < firstKey:
		return 0, BeginFeedAgain(tx)
	}
	done := tx.Exec(`WITH oldest AS (SELECT cursor, at FROM users_changes ORDER BY cursor LIMIT ?)
		DELETE FROM users_changes WHERE cursor IN (SELECT cursor FROM oldest) AND cursor < coalesce(
			(SELECT min(cursor) FROM oldest WHERE at BETWEEN ? AND ?), (SELECT max(cursor) FROM users_changes))`,
		PruneStep, before.UnixMilli(), time.Now().Add(time.Minute).UnixMilli())
	return done.RowsAffected, done.Error
}

func (s *sqlitePool) measure(_ context.Context, stats *Stats) {
	stats.DatabaseBytes, stats.WALBytes = s.files.database.size(), s.files.wal.size()
	var oldest int64
	const feed = "SELECT (SELECT max(cursor) FROM users_changes) - cursor, at FROM users_changes ORDER BY cursor LIMIT 1"
	if s.readers.Raw(feed).Row().Scan(&stats.FeedEntries, &oldest) == nil {
		stats.FeedOldest = time.UnixMilli(oldest)
	}
}
