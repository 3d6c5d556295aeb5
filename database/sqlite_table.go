package database

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"gorm.io/gorm"

	"users-api/database/dbfile"
	"users-api/models"
)

// describe looks at the table. An INTEGER PRIMARY KEY is the rowid if no index stands behind it
// (sqlite.org/lang_createtable.html#rowid).
func (sqliteDialect) describe(db *gorm.DB, fields models.Fields) (t table, err error) {
	var kind string
	var hasIndexedKey bool
	err = db.Raw(`SELECT type, EXISTS (SELECT 1 FROM pragma_index_list('users') WHERE origin = 'pk')
		FROM pragma_table_list('users')`).Row().Scan(&kind, &hasIndexedKey)
	if errors.Is(err, sql.ErrNoRows) {
		return t, nil // each statement will say that there is no table
	}
	if err != nil {
		return t, err
	}
	var columns []sqliteColumn
	if err := db.Raw("SELECT name, type, pk FROM pragma_table_info('users')").Scan(&columns).Error; err != nil {
		return t, err
	}
	why := ""
	isOtherKey := func(c sqliteColumn) bool {
		return c.PK > 0 != strings.EqualFold(c.Name, "id") || c.PK > 0 && !strings.EqualFold(c.Type, "INTEGER")
	}
	switch {
	case kind != "table":
		why = "it is a view or a virtual table"
	case hasIndexedKey || slices.ContainsFunc(columns, isOtherKey):
		why = "its id is no INTEGER PRIMARY KEY"
	}
	if why != "" {
		return t, unserved(why + ": make it an ordinary table with id INTEGER PRIMARY KEY")
	}
	for _, column := range columns {
		t.columns = append(t.columns, strings.ToLower(column.Name))
		if why := column.unserved(fields); why != "" {
			return t, unserved("its column " + column.Name + why)
		}
	}
	var unique string
	if err := db.Raw(uniqueColumns).Row().Scan(&unique, &t.ignoresCase); err != nil {
		return t, err
	}
	t.unique = strings.Split(unique, ",")
	if t.indexed, err = hasIndex(db, fields.Settable().Names()); err != nil {
		return t, err
	}
	return t, fields.Expect(t.columns)
}

func unserved(why string) error {
	return models.Unserved(why + ", or set DATA_DIR to another directory")
}

// uniqueColumns asks for the columns that have a unique index of their own, of all values or of those that are not empty,
// and whether that of the email ignores the case.
const uniqueColumns = `WITH alone AS (
		SELECT max(c.name) AS name, upper(max(c.coll)) = 'NOCASE' AS ignores_case
		FROM pragma_index_list('users') AS i JOIN pragma_index_xinfo(i.name) AS c ON c.key
		WHERE i."unique" GROUP BY i.name HAVING count(*) = 1 AND (NOT i.partial
			OR (SELECT lower(replace(sql, '"', '')) FROM sqlite_schema WHERE name = i.name)
				GLOB '*where ' || max(c.name) || ' <> '''''))
	SELECT coalesce(group_concat(name), ''), EXISTS (SELECT 1 FROM alone WHERE name = 'email' AND ignores_case) FROM alone`

// sqliteColumn is a column as SQLite describes it.
type sqliteColumn struct {
	Name, Type string
	PK         int `gorm:"column:pk"`
}

// unserved says why a column cannot be served as one of a user, or "". Only columns of text show what a filter compares;
// their types are those of section 3.1 of sqlite.org/datatype3.html.
func (c sqliteColumn) unserved(fields models.Fields) (why string) {
	name, upper := strings.ToLower(c.Name), strings.ToUpper(c.Type)
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(upper, word) })
	}
	isText := !has("INT") && has("CHAR", "CLOB", "TEXT")
	switch {
	case !slices.Contains(fields.Columns(), name):
		return ""
	case name != c.Name:
		why = " is not spelled " + name + ": rename it"
	case name == "id", isText, fields.IsTime(name) && has("DATE", "TIME"):
		return ""
	case fields.IsTime(name):
		why = " has no type of a time: make the table anew with " + name + " DATETIME"
	default:
		why = " has no type of text: make the table anew with " + name + " TEXT"
	}
	if field := fields.Find(name); field != nil && field.Added {
		why += ", take it out of USER_FIELDS"
	}
	return why
}

func (sqliteDialect) columns(tx *gorm.DB, table string) (names []string, err error) {
	err = tx.Raw("SELECT name FROM pragma_table_info(?)", table).Scan(&names).Error
	return names, err
}

// dropEarlier removes the triggers by which earlier versions recorded changes and set updated_at, and their users_changes.
func (sqliteDialect) dropEarlier(tx *gorm.DB) (dropped []string, err error) {
	err = tx.Raw(`SELECT type || ' ' || name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'users' COLLATE NOCASE
			AND (name LIKE 'users\_changes\_%' ESCAPE '\' AND sql LIKE '% BEGIN INSERT INTO users_changes (%'
				OR name LIKE 'users\_updated\_at\_%' ESCAPE '\' AND sql LIKE '% BEGIN UPDATE users SET updated_at = CURRENT_TIMESTAMP %')
		UNION ALL SELECT 'table users_changes'
			WHERE (SELECT group_concat(name) FROM pragma_table_xinfo('users_changes')) = 'cursor,op,id,at'`).Scan(&dropped).Error
	if err != nil || len(dropped) == 0 {
		return nil, err
	}
	return dropped, tx.Exec("DROP " + strings.Join(dropped, "; DROP ")).Error
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

func (sqliteDialect) addColumn(tx *gorm.DB, name string) error {
	err := tx.Migrator().AddColumn(&models.User{}, name)
	if err == nil && name == models.UpdatedAt {
		err = tx.Exec("UPDATE users SET updated_at = created_at").Error
	}
	return err
}

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
		if _, err := (sqliteDialect{}).describe(tx, nil); err != nil {
			return err
		}
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
