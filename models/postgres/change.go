package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

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
func (c changes) change(ctx context.Context, id int64, change models.Change, allow models.Condition) (user models.User, err error) {
	text, values := c.updateText(change)
	update := func(ctx context.Context, conn connection) (err error) {
		user, err = conn.one(ctx, text, append(values, id)...)
		return err
	}
	if change == (models.Change{}) {
		update = func(context.Context, connection) error { return nil }
	} else if allow == nil {
		if err = c.database.commit(ctx, update); !errors.Is(err, models.ErrIgnored) {
			return user, err
		}
	}
	before, err := c.locked(ctx, id, allow, update)
	if change == (models.Change{}) {
		user = before
	}
	return user, err
}

// updateText returns the statement for a change, and its values except the id.
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
	return wholeUser(fmt.Sprintf("UPDATE users SET %s", strings.Join(set, ", ")), len(values)+1, c.queries.columns), values
}

// wholeUser is [whole] for a statement on the user whose id is a parameter.
func wholeUser(statement string, id int, returned string) string {
	return whole(fmt.Sprintf("%s WHERE id = $%d::int8 RETURNING %s", statement, id, returned),
		fmt.Sprintf("(SELECT count(*) FROM users WHERE id = $%d::int8)", id))
}

// delete removes a user.
func (c changes) delete(ctx context.Context, id int64, allow models.Condition) error {
	remove := func(ctx context.Context, conn connection) error {
		_, found, err := conn.number(ctx, wholeUser("DELETE FROM users", 1, "id::int8"), id)
		if err == nil && !found {
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
			if before, err = conn.one(ctx, c.queries.locked, id); err != nil {
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
