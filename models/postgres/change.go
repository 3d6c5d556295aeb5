package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"users-api/models"
)

// changes changes and deletes users. Each is a transaction of its own: PostgreSQL lets those that arrive together share
// a flush of its log.
type changes struct {
	database *database
	queries  *queries
}

// transaction runs statements in a transaction, each of which sees what was committed before it began.
func (c connection) transaction(ctx context.Context, run func(connection) error) error {
	tx, err := c.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return err
	}
	if err := run(c); err != nil {
		_ = tx.Rollback(ctx) // where it fails, the connection is thrown away, and the transaction with it
		return err
	}
	return tx.Commit(ctx)
}

// change changes a user and returns it as it is stored then. Without a condition one statement does where the table is
// plain.
func (c changes) change(ctx context.Context, id int64, change models.Change, allow models.Condition) (user models.User, err error) {
	text, values := c.updateText(change)
	values = append(values, id)
	if allow == nil && change != (models.Change{}) && !c.database.rules.Load() {
		err = c.database.on(ctx, write, func(ctx context.Context, conn connection) (err error) {
			user, err = conn.one(ctx, text+" AND "+ifPlain+" RETURNING "+c.queries.columns, values...)
			return ruled(err)
		})
		if !errors.Is(err, errRules) {
			return user, c.counted(err)
		}
	}
	err = c.locked(ctx, id, allow, func(ctx context.Context, conn connection, before models.User) (err error) {
		if user = before; change != (models.Change{}) {
			user, err = c.update(ctx, conn, before, change, text, values)
		}
		return err
	})
	return user, c.counted(err)
}

// updateText returns the statement for a change, up to what it returns, and its values but the id.
func (c changes) updateText(change models.Change) (text string, values []any) {
	var set []string
	if change.Name != nil {
		values = append(values, *change.Name)
		set = append(set, fmt.Sprintf("name = $%d", len(values)))
	}
	if change.Email != nil {
		values = append(values, *change.Email)
		set = append(set, fmt.Sprintf("email = $%d", len(values)))
	}
	return fmt.Sprintf("UPDATE users SET %s WHERE id = $%d::int8", strings.Join(set, ", "), len(values)+1), values
}

// update runs a change in a transaction and returns the user as it is stored then.
func (c changes) update(ctx context.Context, conn connection, before models.User, change models.Change, text string,
	values []any) (models.User, error) {
	changed, err := conn.exec(ctx, text, values...)
	if err != nil {
		return models.User{}, err
	}
	after, err := conn.one(ctx, c.queries.byID, before.ID)
	if err == nil && changed == 0 && after == before && !change.Describes(after) {
		err = models.ErrIgnored
	}
	return after, err
}

// delete removes a user. Without a condition one statement does where the table is plain.
func (c changes) delete(ctx context.Context, id int64, allow models.Condition) error {
	const text = "DELETE FROM users WHERE id = $1::int8"
	if allow == nil && !c.database.rules.Load() {
		err := c.database.on(ctx, write, func(ctx context.Context, conn connection) error {
			deleted, err := conn.exec(ctx, text+" AND "+ifPlain, id)
			if err == nil && deleted == 0 {
				err = models.ErrNotFound
			}
			return ruled(err)
		})
		if !errors.Is(err, errRules) {
			return c.counted(err)
		}
	}
	return c.counted(c.locked(ctx, id, allow, func(ctx context.Context, conn connection, before models.User) error {
		if _, err := conn.exec(ctx, text, id); err != nil {
			return err
		}
		switch _, err := conn.one(ctx, c.queries.byID, id); {
		case err == nil:
			return models.ErrIgnored
		case errors.Is(err, models.ErrNotFound):
			return nil
		default:
			return err
		}
	}))
}

// locked runs a write in a transaction that holds the lock of the user, if a condition allows it.
func (c changes) locked(ctx context.Context, id int64, allow models.Condition,
	run func(context.Context, connection, models.User) error) error {
	var refused error
	err := c.database.on(ctx, write, func(ctx context.Context, conn connection) error {
		return conn.transaction(ctx, func(conn connection) error {
			before, err := conn.one(ctx, c.queries.locked, id)
			if err != nil {
				return err
			}
			if allow == nil {
				if err := c.database.lookForRules(ctx, conn); err != nil {
					return err
				}
			} else if refused = allow(before); refused != nil {
				return errRefused
			}
			return run(ctx, conn, before)
		})
	})
	if errors.Is(err, errRefused) {
		return refused
	}
	return err
}

// errRefused: a condition refused the write. Its own error is returned as it is.
var errRefused = errors.New("a condition refused the write")

// counted counts a commit that has not failed.
func (c changes) counted(err error) error {
	if err == nil {
		c.database.commits.Count(1)
	}
	return err
}
