package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"users-api/models"
)

// feedDefinition returns the definition of the feed, or "" if changes are not recorded, and why it cannot be read here.
func (c connection) feedDefinition(ctx context.Context) (definition string, unreadable, err error) {
	err = c.query(ctx, func(rows pgx.Rows) error {
		var may, standby bool
		err := rows.Scan(&definition, &may, &standby)
		switch {
		case standby:
			unreadable = errStandby
		case !may:
			unreadable = errNoRightToFeed
		}
		return err
	}, feedDefinition, c.after.timeline())
	return definition, unreadable, err
}

// feed returns the state of the feed. Its table may go away between the two statements, except in a transaction that holds a
// lock of users.
func (c connection) feed(ctx context.Context) (feed feedState, err error) {
	if !c.recording {
		return feed, nil
	}
	definition, unreadable, err := c.feedDefinition(ctx)
	if feed.unreadable = unreadable; err != nil || definition == "" || unreadable != nil {
		return feed, err
	}
	err = c.query(ctx, func(rows pgx.Rows) error {
		return scanPlaces(rows, &feed.begin, &feed.last)
	}, feedEnds)
	sum := sha256.Sum256([]byte(definition))
	feed.epoch = hex.EncodeToString(sum[:6])
	return feed, err
}

// Changes returns the entries of the feed after a cursor.
func (u *Users) Changes(ctx context.Context, after string, limit int) (changes models.Changes, err error) {
	err = u.inSnapshot(ctx, lookup, func(ctx context.Context, conn connection, inside *reader) (err error) {
		conn.recording = true // a check of a moment ago may not know it yet
		feed, err := conn.feed(ctx)
		switch {
		case err != nil:
			return err
		case feed.unreadable != nil:
			return feed.unreadable
		case feed.epoch == "":
			return models.ErrNoFeed
		}
		changes, err = inside.changes(ctx, conn, feed, after, limit)
		return err
	})
	return changes, err
}

// changes reads the entries after a cursor, and the users whom they name.
func (r *reader) changes(ctx context.Context, conn connection, feed feedState, after string, limit int) (
	changes models.Changes, err error) {
	from, err := feed.find(after)
	if err != nil {
		return changes, err
	}
	changes.Next = feed.cursor(from)
	if changes.Entries, err = conn.entries(ctx, feed, from, limit); err != nil {
		return changes, err
	}
	users, read, err := r.usersOf(ctx, conn, changes.Entries)
	if err != nil {
		return changes, err
	}
	isUnread := func(change models.Change) bool { return change.Op != models.OpMany && !read[change.ID] }
	if unread := slices.IndexFunc(changes.Entries, isUnread); unread >= 0 {
		changes.Entries = changes.Entries[:unread]
	}
	return changes, changes.AddUsers(r.queries.fields, func(id int64) (*models.User, error) { return users[id], nil })
}

// entries reads the entries after a place. If the entry at that place is gone, another program has deleted entries, perhaps
// later ones too.
func (c connection) entries(ctx context.Context, feed feedState, from place, limit int) (entries []models.Change, err error) {
	fromStart := from == place{}
	if !fromStart {
		limit++ // the entry at that place comes first
	}
	err = c.query(ctx, func(rows pgx.Rows) error {
		var xid string
		var seq int64
		var change models.Change
		err := rows.Scan(&xid, &seq, &change.Op, &change.ID, &change.At)
		change.Cursor = fmt.Sprintf("%s.%s.%d", feed.epoch, xid, seq)
		entries = append(entries, change)
		return err
	}, changesAfter, fmt.Sprint(from.xid), from.seq, fmt.Sprint(feed.last.xid), feed.last.seq, int64(limit))
	if err != nil || fromStart {
		return entries, err
	}
	if len(entries) == 0 || entries[0].Cursor != feed.cursor(from) {
		return nil, models.ErrCursorGone
	}
	return entries[1:], nil
}

// usersOf reads the users whom entries name, in order, until their texts fill a response, and returns for which ids that was
// done.
func (r *reader) usersOf(ctx context.Context, conn connection, entries []models.Change) (
	users map[int64]*models.User, read map[int64]bool, err error) {
	users, read = map[int64]*models.User{}, map[int64]bool{}
	ids := idsOf(entries)
	for left := models.MostChangesBytes; len(ids) > 0 && left > 0; {
		next := ids[:min(len(ids), r.pages.get())]
		page, whole, err := r.readPage(ctx, conn, r.queries.usersOf, []any{next})
		if err != nil {
			return nil, nil, err
		}
		for i := range page {
			users[page[i].ID] = &page[i]
			left -= r.queries.fields.Bytes(&page[i].NewUser)
		}
		if !whole {
			next = next[:1+slices.Index(next, page[len(page)-1].ID)]
		}
		for _, id := range next {
			read[id] = true
		}
		ids = ids[len(next):]
	}
	return users, read, nil
}

// idsOf returns the ids that entries name, each once.
func idsOf(entries []models.Change) (ids []int64) {
	for _, change := range entries {
		if change.Op != models.OpMany && !slices.Contains(ids, change.ID) {
			ids = append(ids, change.ID)
		}
	}
	return ids
}

// AwaitChanges returns when there may be entries after a cursor.
func (u *Users) AwaitChanges(ctx context.Context, cursor string) error {
	return u.follow.Await(ctx, cursor)
}

// Cursor returns where the feed ends now, or "" if changes are not recorded.
func (u *Users) Cursor(ctx context.Context) (cursor string, err error) {
	if last := u.database.checked.Load(); last != nil && !last.table.recording {
		return "", nil // without a statement
	}
	err = u.on(ctx, lookup, func(ctx context.Context, conn connection) error {
		feed, err := conn.feed(ctx)
		if sqlState(err) == codeNoTable {
			feed, err = feedState{}, nil
		}
		cursor = feed.cursor(feed.last)
		return err
	})
	return cursor, err
}

// PruneChanges deletes entries that are older than a time, in small commits.
func (u *Users) PruneChanges(ctx context.Context, before time.Time) error {
	for step := models.PruneStep; ; {
		rows, err := u.prune(ctx, before, step)
		if err != nil || rows < int64(step)-1 {
			return err
		}
	}
}

func (u *Users) prune(ctx context.Context, before time.Time, step int) (rows int64, err error) {
	if err := u.beginWrite(); err != nil {
		return 0, err
	}
	defer u.writing.RUnlock()
	err = u.database.on(ctx, write, func(ctx context.Context, conn connection) error {
		if !conn.recording {
			return nil
		}
		return conn.transaction(ctx, func() (err error) {
			if _, err = conn.exec(ctx, pruneOthers); err == nil {
				rows, err = conn.exec(ctx, pruneChanges, before, int64(step))
			}
			return err
		})
	})
	failed, _ := errors.AsType[*models.StorageError](err)
	if failed != nil && (failed.Code == codeNoTable || failed.Code == codeReadOnly) {
		err = nil // changes are no longer recorded; or this is a standby, and a service on the primary deletes them
	}
	return rows, err
}
