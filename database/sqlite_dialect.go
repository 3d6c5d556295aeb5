package database

import (
	"errors"
	"strconv"
	"strings"

	driver "github.com/glebarez/go-sqlite"
	"gorm.io/gorm"
	sqlite3 "modernc.org/sqlite/lib"

	"users-api/database/dbfile"
	"users-api/models"
)

// sqliteDialect is the SQL of SQLite, and its errors.
type sqliteDialect struct{}

// endsTransaction: where a trigger has rolled the transaction back, another can begin.
func (d sqliteDialect) endsTransaction(tx *gorm.DB, err error) bool {
	_, isRefusal := d.classify(err)
	return spoilsOthers(err) && (!isRefusal || tx.Session(&gorm.Session{NewDB: true}).Exec("BEGIN").Error == nil)
}

func (sqliteDialect) holds(string) bool { return true }

// maxParameters: the driver takes time that grows with their square. With 800, an import takes half as long again.
func (sqliteDialect) maxParameters() int { return 240 }

// shownTime gives SQLite's datetime only what begins like a day: it takes now for a time, and a number for one, too. What is
// as this program stores it needs none, which takes a tenth off a page.
func (sqliteDialect) shownTime(column string) string {
	return strings.ReplaceAll("CASE WHEN TIME GLOB '????-??-?? ??:??:??' THEN TIME "+
		"WHEN TIME GLOB '????-*' THEN coalesce(datetime(TIME), TIME || '') ELSE coalesce(TIME || '', '') END", "TIME", column)
}

func (sqliteDialect) foldedEmail() string          { return "email COLLATE NOCASE" }
func (sqliteDialect) lower(text string) string     { return "lower(" + text + ")" }
func (sqliteDialect) bytes(text string) string     { return "CAST(" + text + " AS BLOB)" }
func (sqliteDialect) position(bytes string) string { return "instr(" + bytes + ", ?)" }

func (sqliteDialect) feed() feed {
	return feed{xid: "0", isShown: "TRUE", keys: []string{"seq"}, from: "seq >= @seq"}
}

// classify shows SQLite's errors with their own text. A refusal comes from a statement, and not from the disk, the file
// or the machine.
func (sqliteDialect) classify(err error) (shown error, isRefusal bool) {
	failed, ok := errors.AsType[*driver.Error](err)
	if !ok {
		return err, errors.Is(err, models.ErrNoEffect)
	}
	switch dbfile.PrimaryCode(err) {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_IOERR,
		sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOTADB:
	default:
		_, isRecord := errors.AsType[recordError](err)
		isRefusal = !isRecord
	}
	text, _, _ := strings.Cut(strings.ToLower(failed.Error()), " (")
	_, column, _ := strings.Cut(text, "unique constraint failed: users.") // several are no column's name
	isUnique := failed.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE
	hint := ""
	if failed.Code() == sqlite3.SQLITE_CORRUPT_VTAB { // another program has written users without the triggers of the index
		isRefusal = true
		hint = ": the index of searches does not fit the user: run `users-api index-search`, which makes it anew"
	}
	return &models.StorageError{
		Text: failed.Error() + hint,
		Code: strconv.Itoa(failed.Code()), Meaning: driver.ErrorCodeString[failed.Code()&0xff],
		// SQLite names the columns only in its text.
		Unique: isUnique, Column: column, Duplicate: column == "email",
	}, isRefusal
}

// spoilsOthers reports whether a write that failed may have ended its transaction, or left something behind in it: an error
// of the disk, a write without its entry, what a trigger refuses or ignores (RAISE(FAIL), RAISE(ROLLBACK)), and what fails
// in a table that a trigger writes.
func spoilsOthers(err error) bool {
	const refusedByTrigger = "1811" // SQLITE_CONSTRAINT_TRIGGER
	shown, isRefusal := sqliteDialect{}.classify(err)
	failure, _ := errors.AsType[*models.StorageError](shown)
	isAlone := isRefusal && failure != nil && failure.Code != refusedByTrigger && !(failure.Unique && failure.Column == "")
	return dbfile.PrimaryCode(err) != 0 && !isAlone || errors.Is(err, models.ErrNoEffect)
}

// kindOfUsers: an INTEGER PRIMARY KEY is the rowid if no index stands behind it (sqlite.org/lang_createtable.html#rowid).
func (sqliteDialect) kindOfUsers() string {
	return `SELECT type = 'table', (SELECT group_concat(name || ' ' || lower(type)) FROM pragma_table_info('users') WHERE pk)
			IS 'id integer' AND NOT EXISTS (SELECT 1 FROM pragma_index_list('users') WHERE origin = 'pk')
		FROM pragma_table_list('users')`
}

func (sqliteDialect) columns() string { return "SELECT name, type FROM pragma_table_info(?)" }

// accepts: only columns of text show what a filter compares. Their types are those of section 3.1 of
// sqlite.org/datatype3.html.
func (sqliteDialect) accepts(typeName string, isTime bool) (fits bool, types string) {
	has := func(word string) bool { return strings.Contains(strings.ToUpper(typeName), word) }
	isText := !has("INT") && (has("CHAR") || has("CLOB") || has("TEXT"))
	if isTime {
		return isText || has("DATE") || has("TIME"), "DATETIME, TIMESTAMP or TEXT"
	}
	return isText, "TEXT or VARCHAR"
}

func (sqliteDialect) uniqueColumns() string {
	return `SELECT DISTINCT max(c.name) AS name, upper(max(c.coll)) = 'NOCASE' AS ignores_case
		FROM pragma_index_list('users') AS i JOIN pragma_index_xinfo(i.name) AS c ON c.key
		WHERE i."unique" GROUP BY i.name HAVING count(*) = 1 AND (NOT i.partial
			OR (SELECT lower(replace(sql, '"', '')) FROM sqlite_schema WHERE name = i.name)
				GLOB '*where ' || max(c.name) || ' <> ''''')`
}

func (sqliteDialect) earlier() string {
	return `SELECT type || ' ' || name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'users' COLLATE NOCASE
			AND (name LIKE 'users\_changes\_%' ESCAPE '\' AND sql LIKE '% BEGIN INSERT INTO users_changes (%'
				OR name LIKE 'users\_updated\_at\_%' ESCAPE '\' AND sql LIKE '% BEGIN UPDATE users SET updated_at = CURRENT_TIMESTAMP %')
		UNION ALL SELECT 'table users_changes'
			WHERE (SELECT group_concat(name) FROM pragma_table_xinfo('users_changes')) = 'cursor,op,id,at'`
}

func (sqliteDialect) createChanges(tx *gorm.DB) error { return tx.AutoMigrate(&models.Change{}) }

func (sqliteDialect) beginEpoch(tx *gorm.DB, anew bool) error {
	_, _, err := begin(tx)
	if errors.Is(err, models.ErrCursorGone) || err == nil && anew {
		err = beginEpoch(tx)
	}
	return err
}

func (sqliteDialect) cutTime(column string) string { return column }
