package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"gorm.io/gorm"

	"users-api/models"
)

// newTable is the table users as this engine makes it: the model, with PostgreSQL's own types for the id and the time.
type newTable struct {
	ID int64 `gorm:"primaryKey;generated:identity"`
	models.NewUser
	CreatedAt string `gorm:"->;type:timestamptz(0);default:now()"`
}

// TableName is GORM's way to ask for the name.
func (newTable) TableName() string { return "users" }

// createLock is the number of the lock that those who create the table take. It is "users" in ASCII.
const createLock int64 = 0x7573657273

// createTries is how often a table is looked for and made, where other programs make it at the same time.
const createTries = 3

// createTable makes the table users where nothing of that name is found on the search path, and leaves alone what is.
// GORM's AutoMigrate would change an existing table on any difference.
func createTable(ctx context.Context, db *gorm.DB) (err error) {
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	for range createTries {
		var exists bool
		if exists, err = hasTable(db.WithContext(ctx)); err != nil || exists {
			return err
		}
		err = createOnce(db.WithContext(ctx))
		if code := sqlState(err); code != codeTableExists && code != codeDuplicate && class(code) != classRollback {
			return err
		}
	}
	return err
}

// createOnce makes the table. Where two create it at once, PostgreSQL refuses one of them in the middle: so processes take
// turns, and each looks again, which only READ COMMITTED lets it do. The lock ends with its transaction, because behind a
// pooler one that outlives it is never given back.
func createOnce(db *gorm.DB) error {
	return db.Transaction(func(tx *gorm.DB) error {
		if err := tx.Exec("SELECT pg_advisory_xact_lock(?)", createLock).Error; err != nil {
			return err
		}
		if exists, err := hasTable(tx); err != nil || exists {
			return err
		}
		return tx.Migrator().CreateTable(&newTable{})
	}, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
}

// hasTable reports whether the search path leads to anything that is named users. It reads pg_class as well, because only
// a statement that opens a table makes the session notice what others have committed to the catalog meanwhile.
func hasTable(tx *gorm.DB) (exists bool, err error) {
	err = tx.Raw("SELECT EXISTS (SELECT FROM pg_class WHERE oid = to_regclass('users'))").Scan(&exists).Error
	return exists, err
}

// table is what must be known of the table users, which may be another program's.
type table struct {
	idType, timeType string
	// unique: no two users have one id. Otherwise a page ends with all users of its last id.
	unique bool
	// ids: every user has an id.
	ids bool
	// ownTime: the table makes the time itself, and takes no other.
	ownTime bool
}

// describeTable asks for the columns of users with the names of the types behind them, and what is known of each. A view
// has no keys.
const describeTable = `SELECT a.attname::text, COALESCE(b.typname, t.typname)::text, a.attnotnull, a.attgenerated <> '',
	EXISTS (SELECT FROM pg_index i WHERE i.indrelid = a.attrelid AND i.indisunique AND i.indisvalid AND i.indimmediate
		AND i.indpred IS NULL AND i.indnkeyatts = 1 AND i.indkey[0] = a.attnum),
	c.relkind::text
	FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
	JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type b ON b.oid = t.typbasetype
	WHERE a.attrelid = to_regclass('users') AND a.attnum > 0 AND NOT a.attisdropped`

// column is a column of the table.
type column struct {
	name, typeName                string
	notNull, generated, uniqueKey bool
	relation                      string
}

// describe looks at the table, and returns an error where it cannot be served.
func (d *database) describe(ctx context.Context) (t table, err error) {
	columns := map[string]column{}
	err = d.on(ctx, lookup, func(ctx context.Context, conn connection) error {
		return conn.query(ctx, func(rows pgx.Rows) error {
			var c column
			err := rows.Scan(&c.name, &c.typeName, &c.notNull, &c.generated, &c.uniqueKey, &c.relation)
			columns[c.name] = c
			return err
		}, describeTable)
	})
	if err != nil {
		return t, err
	}
	if err := expectColumns(columns); err != nil {
		return t, err
	}
	if err := d.expectRights(ctx); err != nil {
		return t, err
	}
	id, created := columns["id"], columns["created_at"]
	return table{
		idType: id.typeName, timeType: created.typeName, unique: id.uniqueKey, ids: id.notNull, ownTime: created.generated,
	}, nil
}

// expectColumns returns an error where the table cannot be served.
func expectColumns(columns map[string]column) error {
	var missing []string
	for _, name := range []string{"id", "name", "email", "created_at"} {
		if _, exists := columns[name]; !exists {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("users has no column %s: add it, or give users-api a database or a schema of its own",
			strings.Join(missing, ", "))
	}
	switch id := columns["id"]; id.typeName {
	case "int2", "int4", "int8":
		return nil
	default:
		return fmt.Errorf("the ids of users are of type %s, and users-api serves whole numbers (smallint, integer, bigint): "+
			"give it a database or a schema of its own", id.typeName)
	}
}

// missingRights are what this user may not do with the table. A column of type serial takes its ids from a sequence that
// has rights of its own.
const missingRights = `SELECT concat_ws(', ',
	CASE WHEN NOT has_any_column_privilege(o, 'SELECT') THEN 'SELECT' END,
	CASE WHEN NOT has_any_column_privilege(o, 'INSERT') THEN 'INSERT' END,
	CASE WHEN NOT has_any_column_privilege(o, 'UPDATE') THEN 'UPDATE' END,
	CASE WHEN NOT has_table_privilege(o, 'DELETE') THEN 'DELETE' END,
	CASE WHEN NOT has_sequence_privilege(pg_get_serial_sequence('users', 'id'), 'USAGE') AND EXISTS (SELECT FROM pg_attribute
		WHERE attrelid = o AND attname = 'id' AND attidentity = '') THEN 'USAGE of its sequence' END)
	FROM (SELECT to_regclass('users')::oid AS o) AS users`

// expectRights returns an error where this user may not do all that is needed.
func (d *database) expectRights(ctx context.Context) error {
	var missing string
	err := d.on(ctx, lookup, func(ctx context.Context, conn connection) error {
		return conn.query(ctx, func(rows pgx.Rows) error { return rows.Scan(&missing) }, missingRights)
	})
	if err == nil && missing != "" {
		err = &models.StorageError{Text: "permission denied for users: " + missing, Code: codeNoRight}
	}
	return err
}
