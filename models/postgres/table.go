package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"gorm.io/gorm"

	"users-api/models"
)

// newTable is the table users as this engine creates it: the model, with PostgreSQL's own types for the id and the
// time.
type newTable struct {
	ID int64 `gorm:"primaryKey;generated:identity"`
	models.NewUser
	CreatedAt string `gorm:"->;type:timestamptz(0);default:now()"`
}

// TableName tells GORM the name.
func (newTable) TableName() string { return "users" }

// createLock is the number of the lock that processes take to create the table. It is "users" in ASCII.
const createLock int64 = 0x7573657273

// createTries is how often createTable looks for the table and creates it, if other programs create it at the same
// time.
const createTries = 3

// createTable creates the table users if nothing of that name is found on the search path, and leaves alone what is
// there. GORM's AutoMigrate would change an existing table on any difference.
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

// createOnce creates the table. If two processes create it at once, PostgreSQL refuses one of them midway: so processes
// take turns, and each checks again, which only READ COMMITTED allows. The lock ends with its transaction, because
// behind a pooler a lock that outlives it is never released.
func createOnce(db *gorm.DB) error {
	return db.Transaction(func(tx *gorm.DB) error {
		if err := tx.Exec("SET LOCAL lock_timeout = 0").Error; err != nil {
			return err
		}
		if err := tx.Exec("SELECT pg_advisory_xact_lock(?)", createLock).Error; err != nil {
			return err
		}
		if exists, err := hasTable(tx); err != nil || exists {
			return err
		}
		return tx.Migrator().CreateTable(&newTable{})
	}, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
}

// hasTable reports whether the search path leads to anything named users. It reads pg_class as well, because only a
// statement that opens a table makes the session notice what others have committed to the catalog meanwhile.
func hasTable(tx *gorm.DB) (exists bool, err error) {
	err = tx.Raw("SELECT EXISTS (SELECT FROM pg_class WHERE oid = to_regclass('users'))").Scan(&exists).Error
	return exists, err
}

// table is what must be known about the table users, which another program may have created.
type table struct {
	oid      uint32
	timeType string
	// ownTime: the table sets the time itself, and accepts no other.
	ownTime bool
	// emailType is the type of an email, as it is written in a statement.
	emailType string
	// emailKey: an index finds the one user who has an email.
	emailKey bool
}

// describeTable asks for the columns of users with the names of the types behind them, for the unique indexes on one of
// them alone, and for everything else that decides whether the table can be served.
const describeTable = `SELECT a.attname::text, COALESCE(b.typname, t.typname)::text,
	format_type(COALESCE(NULLIF(t.typbasetype, 0), t.oid), -1), a.attgenerated <> '',
	EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary AND i.indnkeyatts = 1 AND i.indkey[0] = a.attnum),
	EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid AND i.indimmediate
		AND i.indpred IS NULL AND i.indnkeyatts = 1 AND i.indkey[0] = a.attnum),
	c.oid, c.relkind::text, COALESCE((SELECT min(rulename::text) FROM pg_rewrite WHERE ev_class = c.oid), ''),
	c.relkind = 'r' AND EXISTS (SELECT FROM pg_inherits WHERE inhparent = c.oid)
	FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
	JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type b ON b.oid = t.typbasetype
	WHERE c.oid = to_regclass('users') AND a.attnum > 0 AND NOT a.attisdropped`

// column is a column of the table, with what is known about the table.
type column struct {
	name, typeName, fullType       string
	generated, primaryKey, oneUser bool

	oid            uint32
	relation, rule string
	inherited      bool
}

// describe reads the definition of the table, and returns an error if it cannot be served.
func (c connection) describe(ctx context.Context) (t table, err error) {
	columns, last := map[string]column{}, column{}
	err = c.query(ctx, func(rows pgx.Rows) error {
		err := rows.Scan(&last.name, &last.typeName, &last.fullType, &last.generated, &last.primaryKey, &last.oneUser,
			&last.oid, &last.relation, &last.rule, &last.inherited)
		columns[last.name] = last
		return err
	}, describeTable)
	if err != nil || len(columns) == 0 {
		return t, err // without a table, each statement says so by itself
	}
	created, email := columns["created_at"], columns["email"]
	t = table{last.oid, created.typeName, created.generated, email.fullType, email.oneUser}
	if why := unserved(columns, last); why != "" {
		err = &models.StorageError{
			Text: why + ": change that, or give users-api a database or a schema of its own",
			Code: codeUnserved, Meaning: "the users table cannot be served",
		}
	}
	return t, err
}

// relations are the kinds of relations that are not served.
var relations = map[string]string{
	"v": "a view", "m": "a materialized view", "f": "a foreign table", "S": "a sequence", "c": "a type",
}

// unserved returns why a table cannot be served, or "" if it can.
func unserved(columns map[string]column, relation column) string {
	var missing []string
	for _, name := range []string{"id", "name", "email", "created_at"} {
		if _, exists := columns[name]; !exists {
			missing = append(missing, name)
		}
	}
	id := columns["id"]
	switch kind := relations[relation.relation]; {
	case kind != "":
		return "users is " + kind + " and not a table"
	case relation.rule != "":
		return fmt.Sprintf("users has the rule %q, and a table with rules is not served", relation.rule)
	case relation.inherited:
		return "other tables inherit from users, so that two users may have one id"
	case len(missing) > 0:
		return "users has no column " + strings.Join(missing, ", ")
	case id.typeName != "int2" && id.typeName != "int4" && id.typeName != "int8":
		return fmt.Sprintf("the column id of users is of type %s, and it must be smallint, integer or bigint", id.typeName)
	case !id.primaryKey:
		return "the column id is not the primary key of users"
	}
	return ""
}

// checkEvery is how often the table is checked while the service runs: another program may change it at any time.
const checkEvery = time.Second

// tableCheck is the result of the last check of the table.
type tableCheck struct {
	table table
	err   error
}

// checkTable returns an error while the table cannot be served. It checks at most once a second, which takes less than
// a millisecond; in between it returns the last result. After a change of the table all statements are prepared again.
func (d *database) checkTable(ctx context.Context, conn connection) error {
	last := d.checked.Load()
	now, next := time.Now().UnixNano(), d.nextCheck.Load()
	if last == nil || now < next || !d.nextCheck.CompareAndSwap(next, now+int64(checkEvery)) {
		if last == nil {
			return nil // startup creates the table first
		}
		return last.err
	}
	found, err := conn.describe(ctx)
	if _, told := errors.AsType[*models.StorageError](err); err != nil && !told {
		return err
	}
	d.checked.Store(&tableCheck{found, err})
	if found != last.table {
		d.emails.Clear()
		d.pool.Reset()
	}
	return err
}

// describe checks the table for the first time; from then on [database.checkTable] does.
func (d *database) describe(ctx context.Context) (t table, err error) {
	err = d.on(ctx, lookup, func(ctx context.Context, conn connection) (err error) {
		t, err = conn.describe(ctx)
		return err
	})
	if err == nil {
		err = d.expectRights(ctx)
	}
	d.checked.Store(&tableCheck{table: t})
	return t, err
}

// missingRights are what this user may not do with the table. A snapshot locks the table, which needs the right to read
// all of it. A column of type serial takes its ids from a sequence with rights of its own.
const missingRights = `SELECT concat_ws(', ',
	CASE WHEN NOT has_table_privilege(o, 'SELECT') THEN 'SELECT' END,
	CASE WHEN NOT has_any_column_privilege(o, 'INSERT') THEN 'INSERT' END,
	CASE WHEN NOT has_any_column_privilege(o, 'UPDATE') THEN 'UPDATE' END,
	CASE WHEN NOT has_table_privilege(o, 'DELETE') THEN 'DELETE' END,
	CASE WHEN NOT has_sequence_privilege(pg_get_serial_sequence('users', 'id'), 'USAGE') AND EXISTS (SELECT FROM pg_attribute
		WHERE attrelid = o AND attname = 'id' AND attidentity = '') THEN 'USAGE of its sequence' END)
	FROM (SELECT to_regclass('users')::oid AS o) AS users`

// expectRights returns an error if this user may not do all that is needed.
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
