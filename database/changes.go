package database

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm"

	"users-api/models"
)

// Every write records what it has done in the table users_changes, in its own transaction: the history of each user, and
// the feed for clients that keep a copy. What other programs write is not recorded.
//
// The first entry, whose key is 0, holds the epoch. A cursor is the epoch and the key and time of an entry: it is valid
// as long as that entry is there. Where older entries were deleted, the first entry gets a new time, so that whoever
// has not gone beyond it has missed something.

const (
	MaxRecorded  = 10_000    // creations of an import that are recorded one by one
	pruneStep    = 1000      // old entries that are deleted in one commit
	changesBytes = 128 << 10 // of JSON in one response; what follows takes another
)

// author is who writes, for the entries of users_changes.
type author struct{ by, request *string }

type authorKey struct{}

// WithAuthor returns a context whose writes are recorded as those of somebody, such as "key:hr-sync", or of nobody who is
// known, in a request with an id.
func WithAuthor(ctx context.Context, by, request string) context.Context {
	nullable := func(text string) *string {
		if text == "" {
			return nil
		}
		return &text
	}
	return context.WithValue(ctx, authorKey{}, author{nullable(by), nullable(request)})
}

type onlyReads struct{}

// OnlyReads returns the context of a request from whoever may only read, whose places are counted apart.
func OnlyReads(ctx context.Context) context.Context { return context.WithValue(ctx, onlyReads{}, true) }

// MayOnlyRead reports whether a context is such a one.
func MayOnlyRead(ctx context.Context) bool { return ctx.Value(onlyReads{}) != nil }

// recordError is the failure to record a write, which has been carried out already: it must not be committed.
type recordError struct{ error }

func (e recordError) Unwrap() error { return e.error }

// signed returns the entries of a write, under who writes, if changes are recorded.
func (u *Users) signed(ctx context.Context, entries []models.Change) []models.Change {
	if u.keep == 0 {
		return nil
	}
	by, _ := ctx.Value(authorKey{}).(author)
	now := time.Now().UnixMilli()
	for i := range entries {
		entries[i].At, entries[i].By, entries[i].Request = now, by.by, by.request
	}
	return entries
}

// storeEntries stores entries, and gives each its key: 26 of them together take a third of the time.
func storeEntries(tx *gorm.DB, dialect dialect, entries []models.Change) error {
	const columns = 7
	if len(entries) == 0 {
		return nil
	}
	if err := tx.CreateInBatches(&entries, dialect.maxParameters()/columns).Error; err != nil {
		return recordError{err}
	}
	return nil
}

// created, changed and deleted are the entries of writes.
func created(id int64) []models.Change { return []models.Change{{Op: models.OpCreated, UserID: &id}} }

func (u *Users) changed(id int64, fields models.FieldSet, before, after *models.Profile) []models.Change {
	was, is := u.texts.JSON(fields, before), u.texts.JSON(fields, after)
	return []models.Change{{Op: models.OpChanged, UserID: &id, Before: was, After: is}}
}

func (u *Users) deleted(user *models.User) []models.Change {
	whole := string(u.texts.AppendUser(nil, user))
	return []models.Change{{Op: models.OpDeleted, UserID: new(user.ID), Before: &whole}}
}

// feed says in SQL what the order of the feed is: on SQLite, that of commits.
type feed struct {
	xid     string   // the number of an entry's transaction
	isShown string   // is true of the entries that the feed can show now
	keys    []string // by which they are ordered
	from    string   // is true of those from the one with @xid and @seq on
}

func (f feed) by(order order) string { return strings.Join(f.keys, order.word+", ") + order.word }

func (f feed) entry() string {
	return `users_changes.seq, op, user_id, at, "by", request, before, after, ` + f.xid + " AS xid"
}

// shown selects the entries that the feed can show now, in its order or the reverse.
func (f feed) shown(db *gorm.DB, order order) *gorm.DB {
	return db.Model(&models.Change{}).Where(f.isShown).Order(f.by(order))
}

// cursor is where an entry stands in the feed. Clients have its text.
type cursor struct {
	epoch        string
	xid, seq, at int64
}

func (c cursor) String() string { return fmt.Sprintf("%s.%d.%d.%d", c.epoch, c.xid, c.seq, c.at) }

func cursorOf(epoch string, change *models.Change) cursor {
	return cursor{epoch, change.XID, change.Seq, change.At}
}

// parseCursor returns the cursor that a text is, which must be one of this epoch.
func parseCursor(text, epoch string) (c cursor, err error) {
	c.epoch = epoch
	_, _ = fmt.Sscanf(text, epoch+".%d.%d.%d", &c.xid, &c.seq, &c.at)
	if c.String() != text {
		err = models.ErrCursorGone
	}
	return c, err
}

// begin returns the first entry of the feed, and its epoch. There is none until a start, or the command, has begun one.
func begin(tx *gorm.DB) (first models.Change, epoch string, err error) {
	err = tx.Where("seq = 0").Limit(1).Find(&first).Error
	if err == nil && first.Request == nil {
		err = models.ErrCursorGone
	}
	return first, valueOf(first.Request), err
}

// cursor returns where the feed ends, as a connection or transaction sees it, or "" if changes are not recorded.
func (u *Users) cursor(db *gorm.DB) (string, error) {
	if u.keep == 0 {
		return "", nil
	}
	var end cursor
	feed := u.dialect.feed() // by GORM's model it takes four times as long
	err := db.Raw("SELECT (SELECT request FROM users_changes WHERE seq = 0), "+feed.xid+", seq, at FROM users_changes "+
		"WHERE "+feed.isShown+" ORDER BY "+feed.by(descending)+" LIMIT 1").Row().Scan(&end.epoch, &end.xid, &end.seq, &end.at)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return end.String(), err
}

// Changes returns entries of the feed after a cursor, or the oldest, with their users as they are now; the error is
// [models.ErrCursorGone], or as for every read. Changes must be recorded.
func (u *Users) Changes(ctx context.Context, after string, limit int) (changes models.Changes, err error) {
	limited, cancel := context.WithTimeoutCause(ctx, answerTimeout, errSlow)
	defer cancel()
	err = u.snapshot(limited, func(tx *gorm.DB) error {
		first, epoch, err := begin(tx)
		if err != nil {
			return err
		}
		from := cursorOf(epoch, &first)
		if after != "" {
			if from, err = parseCursor(after, epoch); err != nil {
				return err
			}
		}
		feed := u.dialect.feed()
		query := feed.shown(tx, ascending).Where(feed.from, map[string]any{"xid": from.xid, "seq": from.seq}).Limit(limit + 1)
		if err := query.Select(feed.entry()).Find(&changes.Entries).Error; err != nil {
			return err
		}
		if len(changes.Entries) == 0 || cursorOf(epoch, &changes.Entries[0]) != from {
			return models.ErrCursorGone
		}
		changes.Entries, changes.Next = changes.Entries[1:], from.String()
		for i := range changes.Entries {
			changes.Entries[i].Cursor = cursorOf(epoch, &changes.Entries[i]).String()
		}
		return u.addUsers(tx, &changes)
	})
	return changes, err
}

// addUsers adds to each entry the user that it names, and leaves out the entries after [changesBytes].
func (u *Users) addUsers(tx *gorm.DB, changes *models.Changes) error {
	shown, bytes, text := 0, 0, []byte(nil)
	for shown < len(changes.Entries) {
		some := changes.Entries[shown:min(shown+readTogether, len(changes.Entries))]
		var ids []int64
		for _, entry := range some {
			if entry.UserID != nil {
				ids = append(ids, *entry.UserID)
			}
		}
		users, err := u.withIDs(tx, ids)
		if err != nil {
			return err
		}
		for i := range some {
			if id := some[i].UserID; id != nil && users[*id] != nil {
				some[i].User, text = users[*id], u.fields.AppendUser(text[:0], users[*id])
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

// PruneChanges deletes entries that are older than CHANGES_KEEP, where changes are recorded, in small commits, which write no
// user.
func (u *Users) PruneChanges(ctx context.Context) error {
	before := time.Now().Add(-u.keep).UnixMilli()
	for more := true; more && ctx.Err() == nil; {
		err := u.write(ctx, func(tx *gorm.DB) (_ []models.Change, err error) {
			more, err = u.prune(tx, before)
			return nil, err
		})
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// prune deletes old entries and all before them, whatever the clock did, so that none is kept whose next ones are gone; it
// reports whether there may be more. Of the newest only the values go: a client that has seen it has missed nothing.
func (u *Users) prune(tx *gorm.DB, before int64) (more bool, err error) {
	oldest := tx.Model(&models.Change{}).Select("seq", "at").Where("seq > 0").Order("seq").Limit(pruneStep)
	newest := u.dialect.feed().shown(tx, descending).Select("seq").Limit(1)
	old := tx.Table("(?) AS oldest", oldest).Select("seq").
		Where("seq <= (SELECT max(seq) FROM (?) AS oldest WHERE at < ?) AND seq <> (?)", oldest, before, newest)
	forget := tx.Model(&models.Change{}).Where("seq = (?) AND at < ? AND (before IS NOT NULL OR after IS NOT NULL)", newest, before)
	if err := forget.Updates(map[string]any{"before": nil, "after": nil}).Error; err != nil {
		return false, err
	}
	deleted := tx.Where("seq IN (?)", old).Delete(&models.Change{})
	if deleted.Error != nil || deleted.RowsAffected == 0 {
		return false, deleted.Error
	}
	first := tx.Model(&models.Change{}).Where("seq = 0").Update("at", time.Now().UnixMilli())
	return deleted.RowsAffected == pruneStep, first.Error
}

// beginEpoch makes all cursors invalid: clients have not seen the users of a database that is restored, nor what another
// program has written.
func beginEpoch(tx *gorm.DB) error {
	first := map[string]any{"seq": 0, "op": models.OpBegin, "at": time.Now().UnixMilli(), "request": rand.Text()[:10]}
	if err := tx.Where("seq = 0").Delete(&models.Change{}).Error; err != nil {
		return err
	}
	return tx.Model(&models.Change{}).Create(first).Error
}

// BeginEpoch begins an epoch in a database file that is restored, if changes are recorded there.
func BeginEpoch(db *gorm.DB) error {
	if !db.Migrator().HasColumn(&models.Change{}, "user_id") { // an earlier version's are removed by the next start
		return nil
	}
	return db.Transaction(beginEpoch)
}

const followEvery = 50 * time.Millisecond

// AwaitChanges returns when there may be entries after a cursor. However many wait, the newest cursor is read once for all.
func (u *Users) AwaitChanges(ctx context.Context, cursor string) error {
	for {
		newest, err, _ := u.newest.Do("", func() (newest any, err error) {
			_ = sleep(u.ended, followEvery)
			err = u.read(u.ended, func(db *gorm.DB) (err error) {
				newest, err = u.cursor(db)
				return err
			})
			return newest, err
		})
		if err != nil || ctx.Err() != nil || newest != cursor {
			return cmp.Or(ctx.Err(), err)
		}
	}
}
