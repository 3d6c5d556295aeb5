package database

import (
	"cmp"
	"context"
	"time"

	"golang.org/x/sync/semaphore"
	"gorm.io/gorm"

	"users-api/models"
)

// The feed of changes is for clients that keep a copy of the users. Triggers (sqlite_feed.go, postgres_feed.go) record
// what any program writes to users in the table users_changes, which holds ids and no other values. A cursor is a place
// between two entries, which only the database that gave it understands.

const (
	MaxRecorded  = 10_000    // users that a statement may write before it is recorded as one entry
	PruneStep    = 1000      // old entries that are deleted in one commit
	changesBytes = 128 << 10 // of JSON in one response; what follows takes another
)

// Changes returns entries after a cursor, or the oldest; the error is [models.ErrNoFeed], [models.ErrCursorGone], or as
// for every read.
func (u *Users) Changes(ctx context.Context, after string, limit int) (changes models.Changes, err error) {
	limited, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	err = u.storageError(ctx, u.pool.snapshot(limited, func(tx *gorm.DB) (err error) {
		if changes, err = u.dialect.changes(tx, after, limit); err != nil {
			return err
		}
		return u.addUsers(tx, &changes)
	}))
	return changes, err
}

// addUsers adds to each entry the user that it names, and leaves out the entries after [changesBytes].
func (u *Users) addUsers(tx *gorm.DB, changes *models.Changes) error {
	shown, bytes, text := 0, 0, []byte(nil)
	for shown < len(changes.Entries) {
		part := changes.Entries[shown:min(shown+readTogether, len(changes.Entries))]
		users, ids := map[int64]*models.User{}, []int64{}
		for _, entry := range part {
			ids = append(ids, entry.ID)
		}
		for user, err := range u.each(tx.Where("id IN ?", ids)) {
			if err != nil {
				return err
			}
			users[user.ID] = new(*user)
		}
		for at := range part {
			if user := users[part[at].ID]; user != nil && part[at].Op != models.OpMany {
				part[at].User, text = user, u.fields.AppendUser(text[:0], user)
				bytes += len(text)
			}
			if bytes += 100; bytes >= changesBytes && shown > 0 { // what an entry takes besides its user
				changes.Entries = changes.Entries[:shown]
				break
			}
			shown++
		}
	}
	if shown > 0 {
		changes.Next = changes.Entries[shown-1].Cursor
	}
	return nil
}

// cursor returns where the feed ends now, or "" if changes are not recorded.
func (u *Users) cursor(ctx context.Context) (cursor string, err error) {
	err = u.read(ctx, func(db *gorm.DB) (err error) {
		cursor, err = u.dialect.cursor(db)
		return err
	})
	return cursor, err
}

// PruneChanges deletes entries that are older than a time, in small commits that write no user.
func (u *Users) PruneChanges(ctx context.Context, before time.Time) error {
	table, err := u.table(ctx)
	for more := table.feed; more && err == nil && ctx.Err() == nil; {
		err = u.write(ctx, inTransaction, func(tx *gorm.DB) error {
			deleted, err := u.dialect.prune(tx, before)
			more = deleted >= PruneStep
			return err
		})
	}
	return err
}

// follower lets many clients wait for the next change: however many wait, the newest cursor is read once per interval.
type follower struct {
	turn   *semaphore.Weighted // a client does not wait for it longer than it wants to
	cursor string              // the newest
	read   time.Time           // when it was read
}

// followEvery is how often a client that waits looks for changes.
const followEvery = 50 * time.Millisecond

// AwaitChanges returns when there may be entries after a cursor.
func (u *Users) AwaitChanges(ctx context.Context, cursor string) error {
	began := time.Now() // what was read before may be older than the cursor
	for {
		newest, read, err := u.newestCursor(ctx)
		if err != nil || newest != cursor && !read.Before(began) {
			return cmp.Or(ctx.Err(), err)
		}
		if err := sleep(ctx, followEvery); err != nil {
			return err
		}
	}
}

// newestCursor returns the newest cursor of a moment ago, and when it was read.
func (u *Users) newestCursor(ctx context.Context) (string, time.Time, error) {
	f := &u.follow
	if err := f.turn.Acquire(ctx, 1); err != nil {
		return "", time.Time{}, err
	}
	defer f.turn.Release(1)
	if time.Since(f.read) < followEvery/2 {
		return f.cursor, f.read, nil
	}
	read := time.Now()
	newest, err := u.cursor(ctx)
	if err == nil {
		f.cursor, f.read = newest, read
	}
	return newest, read, err
}
