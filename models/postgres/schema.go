package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"users-api/models"
	"users-api/models/statements"
)

// AddColumn adds the column of a field to the table users in the database that a URL names, beside running services.
func AddColumn(ctx context.Context, url string, field *models.Field, logger *slog.Logger) error {
	script, err := statements.AddColumn(table{}.dialect(), field)
	if err != nil {
		return err
	}
	return changeSchema(ctx, url, logger, func(d *database) error {
		return d.alone(ctx, func(conn connection) error {
			exists := false
			err := conn.value(ctx, &exists, columnExists, field.Name)
			if err == nil && exists {
				err = fmt.Errorf("the table users has the column %s already: nothing was changed", field.Name)
			}
			if err != nil {
				return err
			}
			return conn.simple(ctx, strings.Join(script, ";"))
		})
	})
}

// changeSchema connects to the database that a URL names and changes its schema. The error says what to do.
func changeSchema(ctx context.Context, url string, logger *slog.Logger, change func(*database) error) error {
	where, err := parseAddress(url)
	if err != nil {
		return err
	}
	d, err := connect(ctx, where, nil, logger)
	if err != nil {
		return err
	}
	defer d.close(ctx)
	err = change(d)
	failed, refused := errors.AsType[*pgconn.PgError](err)
	_, connecting := errors.AsType[connectError](err)
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case isUnknown(err):
		return storageError(err)
	case refused && !connecting:
		return &models.StorageError{Text: failed.Message + remedyForChange(failed.Code), Code: failed.Code}
	case err != nil && isStorages(err):
		return explain(where, err)
	}
	return err
}

func remedyForChange(code string) string {
	switch code {
	case codeNoTable:
		return ": start the service, which creates the table with the columns that USER_FIELDS names"
	case codeNoRight:
		return ": name the owner of the table in the URL"
	}
	return ""
}

// schemaTime is how long a change of the schema waits for other programs.
const schemaTime = 30 * time.Second

// alone makes a change of the table in its own transaction, and beside no other change. It tries again while another
// program holds the table: see lockSchema.
func (d *database) alone(ctx context.Context, change func(connection) error) error {
	done, err := retry(ctx, func() (bool, error) {
		err := d.onOne(ctx, func(conn connection) error {
			return conn.transaction(ctx, func() error {
				if err := conn.simple(ctx, lockSchema); err != nil {
					return err
				}
				return change(conn)
			})
		})
		if isLockTimeout(err) || errors.Is(err, errFinishing) {
			return false, nil
		}
		return true, err
	})
	if err == nil && !done {
		err = d.held(ctx)
	}
	return err
}

// retry calls try until it is done, for as long as a change of the schema waits.
func retry(ctx context.Context, try func() (done bool, err error)) (done bool, err error) {
	for until := time.Now().Add(schemaTime); ; {
		if done, err = try(); done || err != nil || time.Until(until) < pause {
			return done, err
		}
		if err = sleep(ctx, pause); err != nil {
			return false, err
		}
	}
}

// held returns an error that names the oldest transaction that uses the table.
func (d *database) held(ctx context.Context) error {
	by := "other programs, again and again"
	err := d.onOne(ctx, func(conn connection) error { return conn.value(ctx, &by, holder) })
	if err != nil {
		return err
	}
	return fmt.Errorf("nothing was changed, because users was in use for %s, by %s: try again when that has ended", schemaTime, by)
}

// onOne runs statements on one connection.
func (d *database) onOne(ctx context.Context, run func(connection) error) error {
	conn, err := d.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	return run(connection{Conn: conn.Conn()})
}

func sleep(ctx context.Context, howLong time.Duration) error {
	select {
	case <-time.After(howLong):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
