package sqlite

import (
	"context"
	"errors"
	"strconv"
	"time"

	"users-api/models"
	"users-api/models/listcache"
	"users-api/models/sqlite/dbfile"
)

// Changes returns the entries of the feed after a cursor.
func (u *Users) Changes(ctx context.Context, after string, limit int) (changes models.Changes, err error) {
	err = u.reader.on(ctx, models.Query{}, func(conn *connection) (err error) {
		changes, err = conn.changes(after, limit)
		return err
	})
	return changes, storageError(err)
}

// AwaitChanges returns when there may be entries after a cursor.
func (u *Users) AwaitChanges(ctx context.Context, cursor string) error {
	return storageError(u.follow.Await(ctx, cursor))
}

// Cursor returns the newest cursor of the feed, or "" if changes are not recorded. That costs nothing.
func (u *Users) Cursor(ctx context.Context) (cursor string, err error) {
	if !u.writer.conn.recording.Load() {
		return "", nil
	}
	err = u.reader.on(ctx, models.Query{}, func(conn *connection) (err error) {
		cursor, err = conn.cursor()
		return err
	})
	return cursor, storageError(err)
}

// PruneChanges deletes entries that are older than a time, in small commits.
func (u *Users) PruneChanges(ctx context.Context, before time.Time) error {
	for more := u.writer.conn.recording.Load(); more; {
		err := u.writer.do(ctx, &write{run: func(tx *transaction) error {
			more = false
			if !tx.conn.table.feed {
				return nil
			}
			done, err := tx.conn.Exec(pruneChanges, int64(models.PruneStep), before.UnixMilli())
			more = done.Rows == models.PruneStep
			return err
		}})
		if err != nil {
			return storageError(err)
		}
	}
	return nil
}

// changes reads the entries after a cursor, and the users whom they name.
func (c *connection) changes(after string, limit int) (changes models.Changes, err error) {
	from, newest, err := c.feedFrom(after)
	if err != nil {
		return changes, err
	}
	changes.Next = strconv.FormatInt(newest, 10)
	err = c.Query(func(r dbfile.Row) error {
		op, _ := r.Text(1)
		at, _ := r.Text(3)
		changes.Entries = append(changes.Entries, models.Change{
			Cursor: strconv.FormatInt(r.Number(0), 10), Op: models.Op(op), ID: r.Number(2), At: at,
		})
		return nil
	}, changesAfter, from, int64(limit))
	if err == nil {
		err = changes.AddUsers(c.fields, c.findUser)
	}
	return changes, err
}

// findUser returns the user with an id, or nil if there is none.
func (c *connection) findUser(id int64) (*models.User, error) {
	user, err := c.get(id)
	if errors.Is(err, models.ErrNotFound) {
		return nil, nil
	}
	return &user, err
}

// feedFrom returns the key of a cursor, or of the place before the oldest entry, and that of the newest.
func (c *connection) feedFrom(after string) (from, newest int64, err error) {
	oldest, newest, err := c.feedEnds()
	if err != nil || after == "" {
		return oldest - 1, newest, err
	}
	from, err = strconv.ParseInt(after, 10, 64)
	if err != nil || from < oldest-1 || from > newest || strconv.FormatInt(from, 10) != after {
		return 0, 0, models.ErrCursorGone
	}
	return from, newest, nil
}

// feedEnds returns the keys of the oldest and the newest entry.
func (c *connection) feedEnds() (oldest, newest int64, err error) {
	if err = c.checkTable(); err == nil && !c.table.feed {
		err = models.ErrNoFeed
	}
	if err != nil {
		return 0, 0, err
	}
	err = c.Query(func(r dbfile.Row) error {
		oldest, newest = r.Number(0), r.Number(1)
		return nil
	}, feedEnds)
	return oldest, newest, err
}

// cursor returns the newest cursor, or "" if changes are not recorded.
func (c *connection) cursor() (string, error) {
	_, newest, err := c.feedEnds()
	switch {
	case errors.Is(err, models.ErrNoFeed):
		return "", nil
	case err != nil:
		return "", err
	}
	return strconv.FormatInt(newest, 10), nil
}

// changedSince returns which users entries after a cursor name.
func (c *connection) changedSince(cursor string) (since listcache.Changes, err error) {
	from, _, err := c.feedFrom(cursor)
	if errors.Is(err, models.ErrCursorGone) || errors.Is(err, models.ErrNoFeed) {
		return listcache.Unknown(), nil
	}
	if err != nil {
		return since, err
	}
	err = c.Query(func(r dbfile.Row) error {
		if op, _ := r.Text(1); op == string(models.OpMany) {
			since.AddAll()
		} else {
			since.Add(r.Number(2))
		}
		return nil
	}, changesAfter, from, int64(listcache.MaxChanges+1))
	return since, err
}
