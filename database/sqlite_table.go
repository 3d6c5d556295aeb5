package database

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"gorm.io/gorm"

	"users-api/database/dbfile"
	"users-api/models"
)

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
	var begun int64
	err := tx.Model(&models.Change{}).Where("seq = 0").Count(&begun).Error
	if err == nil && (begun == 0 || anew) {
		err = beginEpoch(tx)
	}
	return err
}

func (sqliteDialect) cutTime(column string) string { return column }

// changeSQLite opens the database file beside running services, and changes the schema in one transaction. Afterwards that
// is on disk, or nothing was changed.
func (d Location) changeSQLite(ctx context.Context, change func(tx *gorm.DB, dialect dialect) error) error {
	if _, err := os.Stat(d.Path); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there is no database %s: start the service, which makes it with the fields in USER_FIELDS, or set "+
			"DATA_DIR to the directory that the service uses", d.Path)
	}
	path := dbfile.FollowLinks(d.Path)
	if err := mayWrite(path); err != nil {
		return err
	}
	db, err := openPool(path, d.Fields, 1, pragmas(dbfile.BusyTimeout))
	if err != nil {
		return dbfile.Explain(d.Path, err)
	}
	defer dbfile.Close(db)
	err = db.Transaction(func(tx *gorm.DB) error {
		err := change(tx.WithContext(ctx), sqliteDialect{})
		return cmp.Or(err, ctx.Err()) // the driver may end without an error when the context does
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case dbfile.PrimaryCode(err) == dbfile.CodeBusy:
		return fmt.Errorf("nothing was changed, because another program held the lock for more than %s, as the service does "+
			"during an import: try again afterwards", dbfile.BusyTimeout)
	}
	shown, _ := sqliteDialect{}.classify(err)
	return shown
}
