package postgres

import (
	"context"
	"errors"

	"users-api/models"
)

// Each change and each deletion is its own transaction: PostgreSQL lets those that arrive together share a flush of its
// log.

// Change changes a user and returns what the statement returned.
func (u *Users) Change(ctx context.Context, id int64, change models.Values, allow models.Condition) (user models.User, err error) {
	if err = u.beginWrite(); err != nil {
		return user, err
	}
	defer u.writing.RUnlock()
	if change.Fields == 0 {
		return u.locked(ctx, id, allow, func(context.Context, connection) error { return nil })
	}
	values := append(u.queries.Parameters(change), id)
	text := wholeUser(u.queries.Update(change.Fields), len(values))
	err = u.change(ctx, id, allow, func(ctx context.Context, conn connection) (err error) {
		user, err = conn.one(ctx, text, values...)
		return err
	})
	return user, err
}

// Delete removes a user.
func (u *Users) Delete(ctx context.Context, id int64, allow models.Condition) error {
	if err := u.beginWrite(); err != nil {
		return err
	}
	defer u.writing.RUnlock()
	return u.change(ctx, id, allow, func(ctx context.Context, conn connection) error {
		deleted, err := conn.ids(ctx, wholeUser(u.queries.Delete, 1), id)
		if err == nil && len(deleted) == 0 {
			err = models.ErrNotFound
		}
		return err
	})
}

// change runs a write on a user. Without a condition it is one statement. If a trigger seems to have ignored it, the
// transaction that locks the user finds out whether the user exists.
func (u *Users) change(ctx context.Context, id int64, allow models.Condition, run func(context.Context, connection) error) error {
	if allow == nil {
		if err := u.database.commit(ctx, run); !errors.Is(err, models.ErrIgnored) {
			return err
		}
	}
	_, err := u.locked(ctx, id, allow, run)
	return err
}

// locked runs a write in a transaction that holds the lock of the user, if a condition allows it, and returns the user
// as it was before.
func (u *Users) locked(ctx context.Context, id int64, allow models.Condition, run func(context.Context, connection) error) (
	before models.User, err error) {
	var refused error
	err = u.database.on(ctx, write, func(ctx context.Context, conn connection) error {
		return conn.transaction(ctx, func() (err error) {
			if before, err = conn.one(ctx, u.queries.ByID+lockUser, id); err != nil {
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
	return before, u.database.counted(err)
}

// errRefused: a condition refused the write. The condition's own error is returned instead.
var errRefused = errors.New("a condition refused the write")
