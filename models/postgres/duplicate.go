package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"users-api/models"
)

type constraint struct{ schema, table, name string }

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
	if known, ok := d.onEmail.Load(violated); ok {
		return known == true
	}
	err := on(func(ctx context.Context, conn connection) error {
		return conn.value(ctx, &found, onEmail, violated.schema, violated.table, violated.name)
	})
	if err == nil {
		d.onEmail.Store(violated, found)
	}
	return found
}
