package database

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	driver "github.com/glebarez/go-sqlite"
	"gorm.io/gorm"

	"users-api/database/dbfile"
	"users-api/models"
)

// describeTable asks why the table users cannot be served, and what else [table] says. An INTEGER PRIMARY KEY is the
// rowid if no index stands behind it (sqlite.org/lang_createtable.html#rowid). Only columns of text show what a filter
// compares; their types are those of section 3.1 of sqlite.org/datatype3.html.
const describeTable = `WITH alone AS (
		SELECT max(c.name) AS name, upper(max(c.coll)) = 'NOCASE' AS ignores_case
		FROM pragma_index_list('users') AS i JOIN pragma_index_xinfo(i.name) AS c ON c.key
		WHERE i."unique" GROUP BY i.name HAVING count(*) = 1 AND (NOT i.partial
			OR (SELECT lower(replace(sql, '"', '')) FROM sqlite_schema WHERE name = i.name)
				GLOB '*where ' || max(c.name) || ' <> '''''))
	SELECT coalesce(CASE
			WHEN l.type = 'view' THEN 'it is a view'
			WHEN l.type <> 'table' THEN 'it is a ' || l.type || ' table'
			WHEN l.wr THEN 'it was created WITHOUT ROWID'
			WHEN (SELECT group_concat(lower(name) || upper(type)) FROM pragma_table_info('users') WHERE pk > 0) IS NOT 'idINTEGER'
				OR EXISTS (SELECT 1 FROM pragma_index_list('users') WHERE origin = 'pk') THEN 'its id is no INTEGER PRIMARY KEY'
			END || ': make it an ordinary table with id INTEGER PRIMARY KEY',
			(SELECT 'its column ' || name || CASE
				WHEN name <> lower(name) THEN ' is not spelled ' || lower(name) || ': rename it'
				WHEN hidden > 1 THEN ' is generated: make it an ordinary column'
				WHEN ` + isTimeColumn + ` THEN ' is a time, and no triggers set it: run ` + "`users-api add-field updated_at`" + `'
				ELSE ' has no type of text: make the table anew with ' || name || ' TEXT' END
				|| CASE WHEN lower(name) NOT IN ('id', 'name', 'email', 'created_at')
					THEN ', take it out of USER_FIELDS' ELSE '' END
			FROM pragma_table_xinfo('users') WHERE lower(name) IN ? AND (name <> lower(name) OR hidden > 1
				OR name IN ? AND (type LIKE '%INT%'
					OR type NOT LIKE '%CHAR%' AND type NOT LIKE '%CLOB%' AND type NOT LIKE '%TEXT%'))), ''),
		(SELECT group_concat(lower(name)) FROM pragma_table_xinfo('users')),
		(SELECT COALESCE(group_concat(name), '') FROM alone), EXISTS (SELECT 1 FROM alone WHERE name = 'email' AND ignores_case),
		EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'users_changes' AND sql LIKE '%AUTOINCREMENT%')
	FROM pragma_table_list('users') AS l`

func (sqliteDialect) describe(db *gorm.DB, fields models.Fields) (t table, err error) {
	var why, columns, unique string
	if t.writtenTwice, err = setsSQLiteUpdatedAt(db); err != nil {
		return t, err
	}
	if t.fields = fields; !t.writtenTwice {
		t.fields = fields.Plain()
	}
	err = db.Raw(describeTable, fields.Columns(), t.fields.Settable().Names()).Row().
		Scan(&why, &columns, &unique, &t.ignoresCase, &t.feed)
	if errors.Is(err, sql.ErrNoRows) {
		return t, nil // each statement will say that there is no table
	}
	if err != nil {
		return t, err
	}
	if why != "" {
		return t, models.Unserved(why + ", or set DATA_DIR to another directory")
	}
	t.columns, t.unique = strings.Split(columns, ","), strings.Split(unique, ",")
	if err := fields.Expect(t.columns); err != nil {
		return t, err
	}
	if t.indexed, err = hasIndex(db, t.fields.Settable().Names()); err == nil {
		err = db.Raw(hasOtherTriggers).Row().Scan(&t.triggers)
	}
	return t, err
}

// hasOtherTriggers asks whether another program's triggers run when users are written, those of the feed too, or whether the
// table may replace users on a conflict.
const hasOtherTriggers = `SELECT EXISTS (SELECT 1 FROM sqlite_schema
	WHERE tbl_name COLLATE NOCASE IN ('users', 'users_changes') AND (type = 'trigger'
	AND name NOT IN ('users_changes_created', 'users_changes_changed', 'users_changes_moved', 'users_changes_deleted',
		'users_changes_many', 'users_search_created', 'users_search_changed', 'users_search_deleted',
		'users_updated_at_created', 'users_updated_at_changed') OR sql LIKE '%CONFLICT%'))`

// warnOfUnused warns of what commands have made, and this program does not use.
func (s *sqlitePool) warnOfUnused(logger *slog.Logger, t table) {
	for _, made := range []struct {
		table, warning, command string
		isUsed                  bool
	}{
		{"users_changes", "changes are not recorded: users_changes is another version's", "changes on", t.feed},
		{
			"users_search", "searches look at every user: users_search is another version's, or for other fields",
			"index-search", t.indexed,
		},
	} {
		if !made.isUsed && s.writer.Migrator().HasTable(made.table) {
			logger.Warn(made.warning, "help", "run `users-api "+made.command+"`, which makes it anew")
		}
	}
}

// changeSQLite opens the database file beside running services, and runs change in one transaction. Afterwards it is on
// disk, or nothing was changed. The table must have the columns of some fields.
func (d Location) changeSQLite(ctx context.Context, needs models.Fields, change func(tx *gorm.DB) error) error {
	if _, err := os.Stat(d.Path); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there is no database %s: start the service, which makes it with the fields in USER_FIELDS, or set "+
			"DATA_DIR to the directory that the service uses", d.Path)
	}
	path, err := dbfile.FollowLinks(d.Path)
	if err == nil {
		err = mayWrite(path)
	}
	if err != nil {
		return err
	}
	db, err := openPool(path, d.Fields, 1, pragmas(dbfile.BusyTimeout))
	if err != nil {
		return dbfile.Explain(d.Path, err)
	}
	defer dbfile.Close(db)
	err = db.Transaction(func(tx *gorm.DB) error {
		if _, err := (sqliteDialect{}).describe(tx, needs); err != nil {
			return err
		}
		return cmp.Or(change(tx.WithContext(ctx)), ctx.Err()) // the driver may end without an error when the context does
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

// createSQLiteUnique creates a unique index, or returns who stands in its way.
func createSQLiteUnique(tx *gorm.DB, index uniqueIndex) error {
	err := tx.Exec("CREATE UNIQUE INDEX " + index.definition()).Error
	if failed, ok := errors.AsType[*driver.Error](err); ok && failed.Code() == dbfile.CodeUnique {
		return cmp.Or(index.sharing(tx), err)
	}
	return err
}

// expectOwn returns an error if a table that a command would remove is another program's.
func expectOwn(tx *gorm.DB, table, isForeign string) error {
	foreign := false
	const exists = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = ? COLLATE NOCASE) AND "
	err := tx.Raw(exists+isForeign, table).Row().Scan(&foreign)
	if err == nil && foreign {
		err = fmt.Errorf("%s is another program's: rename it", table)
	}
	return err
}

// dropOwn removes a table of this program, and its triggers, which begin with an INSERT into it: another program's may
// have one of their names. In an earlier version, those of users_search wrote to users_search_written.
func dropOwn(tx *gorm.DB, table string, triggers ...string) error {
	var drops []string
	err := tx.Raw(`SELECT 'DROP ' || type || ' ' || name FROM sqlite_schema WHERE type = 'table' AND name = @table
		OR @table || '_letters' = name AND sql LIKE 'CREATE TABLE users_search_letters (letter TEXT UNIQUE, folded TEXT /%'
		OR @table || '_written' = name AND sql = 'CREATE TABLE users_search_written (id INTEGER PRIMARY KEY)'
		OR name IN @triggers AND (sql LIKE '% BEGIN INSERT INTO ' || @table || ' (%'
			OR sql LIKE '% BEGIN INSERT INTO ' || @table || '_written SELECT%')`,
		map[string]any{"table": table, "triggers": triggers}).Scan(&drops).Error
	return cmp.Or(err, execute(tx, drops...))
}

// execute runs statements one after another.
func execute(tx *gorm.DB, statements ...string) error {
	return tx.Exec(strings.Join(statements, "; ")).Error
}
