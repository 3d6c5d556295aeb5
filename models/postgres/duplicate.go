package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"users-api/models"
)

// constraint names what a row violated.
type constraint struct{ schema, table, name string }

// onEmail asks whether a unique index, of the table or of one of its partitions, is on the email alone. A constraint
// that a trigger has violated elsewhere is not.
const onEmail = `SELECT 1::int8 FROM pg_index i
	JOIN pg_class index ON index.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid
	JOIN pg_namespace n ON n.oid = t.relnamespace
	JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0] AND a.attname = 'email'
	WHERE n.nspname = $1 AND t.relname = $2 AND index.relname = $3 AND i.indisunique AND i.indnkeyatts = 1
	AND (t.oid = to_regclass('users') OR to_regclass('users') IN (SELECT pg_partition_ancestors(t.oid)))`

func isDuplicate(err error) bool { return sqlState(err) == codeDuplicate }

// duplicate returns the violation of a unique constraint as the contract defines it. PostgreSQL names the constraint
// and not its columns, so it is asked for these once.
func (d *database) duplicate(ctx context.Context, err error) error {
	return d.duplicateBy(err, func(ask func(context.Context, connection) error) error { return d.try(ctx, lookup, ask) })
}

// duplicateBy is duplicate, but asks by calling on.
func (d *database) duplicateBy(err error, on func(func(context.Context, connection) error) error) error {
	failed, _ := errors.AsType[*pgconn.PgError](err)
	violated := constraint{failed.SchemaName, failed.TableName, failed.ConstraintName}
	return &models.StorageError{
		Text: failed.Error(), Code: failed.Code, Meaning: meanings[class(failed.Code)], Duplicate: d.isOnEmail(violated, on),
	}
}

func (d *database) isOnEmail(violated constraint, on func(func(context.Context, connection) error) error) (found bool) {
	if known, ok := d.emails.Load(violated); ok {
		return known == true
	}
	err := on(func(ctx context.Context, conn connection) (err error) {
		_, found, err = conn.number(ctx, onEmail, violated.schema, violated.table, violated.name)
		return err
	})
	if err == nil {
		d.emails.Store(violated, found)
	}
	return found
}
