package postgres

import (
	"context"
	"errors"

	"users-api/models"
)

// changes updates and deletes users. Each change is its own transaction: PostgreSQL lets those that arrive together
// share a flush of its log.
type changes struct {
	database *database
	queries  *queries
}

// change changes a user and returns what the statement returned. Without a condition it is one statement. If a trigger
// seems to have ignored it, the transaction that locks the user finds out whether the user exists.
func (c changes) change(ctx context.Context, id int64, change models.Values, allow models.Condition) (user models.User, err error) {
	if change.Of == 0 {
		return c.locked(ctx, id, allow, func(context.Context, connection) error { return nil })
	}
	values := append(c.queries.Parameters(change), id)
	text := wholeUser(c.queries.Update(change.Of), len(values))
	update := func(ctx context.Context, conn connection) (err error) {
		user, err = conn.one(ctx, text, values...)
		return err
	}
	if allow == nil {
		if err = c.database.commit(ctx, update); !errors.Is(err, models.ErrIgnored) {
			return user, err
		}
	}
	_, err = c.locked(ctx, id, allow, update)
	return user, err
}

// delete removes a user.
func (c changes) delete(ctx context.Context, id int64, allow models.Condition) error {
	remove := func(ctx context.Context, conn connection) error {
		deleted, err := conn.ids(ctx, wholeUser(c.queries.Delete, 1), id)
		if err == nil && len(deleted) == 0 {
			err = models.ErrNotFound
		}
		return err
	}
	if allow == nil {
		if err := c.database.commit(ctx, remove); !errors.Is(err, models.ErrIgnored) {
			return err
		}
	}
	_, err := c.locked(ctx, id, allow, remove)
	return err
}

// locked runs a write in a transaction that holds the lock of the user, if a condition allows it, and returns the user
// as it was before.
func (c changes) locked(ctx context.Context, id int64, allow models.Condition, run func(context.Context, connection) error) (
	before models.User, err error) {
	var refused error
	err = c.database.on(ctx, write, func(ctx context.Context, conn connection) error {
		return conn.transaction(ctx, func() (err error) {
			if before, err = conn.one(ctx, c.queries.ByID+lockUser, id); err != nil {
				return err
			}
			if allow != nil {
				if refused = allow(before); refused != nil {
					return errRefused
				}
			}
			return run(ctx, conn)
		})
	})
	if errors.Is(err, errRefused) {
		return before, refused
	}
	return before, c.database.counted(err)
}

// errRefused: a condition refused the write. The condition's own error is returned instead.
var errRefused = errors.New("a condition refused the write")
