package database

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"gorm.io/gorm"

	"users-api/models"
)

// What users_changes knows of single users, where changes are recorded: their history, who was deleted, and how to bring them
// back.

// page reads the entries that a query selects, newest first, before a cursor, and reports whether others follow. Which are
// wanted is for isWanted to say. It ends after [changesBytes] of values, with one entry at least.
func (u *Users) page(query *gorm.DB, before string, limit int, isWanted func(*models.Change) bool) (
	entries []models.Change, more bool, err error,
) {
	tx := query.Session(&gorm.Session{NewDB: true})
	_, epoch, err := begin(tx)
	if err == nil && before != "" {
		var from cursor
		from, err = parseCursor(before, epoch)
		query = query.Where("users_changes.seq < ?", from.seq)
	}
	if err != nil {
		return nil, false, err
	}
	rows, err := query.Model(&models.Change{}).Select(u.dialect.feed().entry()).Order("seq DESC").Rows()
	if err != nil {
		return nil, false, err
	}
	defer rows.Close() //nolint:errcheck // Err says what went wrong
	for bytes := 0; rows.Next(); {
		var change models.Change
		if err := tx.ScanRows(rows, &change); err != nil {
			return nil, false, err
		}
		if !isWanted(&change) {
			continue
		}
		if len(entries) == limit || bytes > changesBytes {
			return entries, true, nil
		}
		bytes += 200 + len(valueOf(change.Before)) + len(valueOf(change.After))
		change.Cursor = cursorOf(epoch, &change).String()
		entries = append(entries, change)
	}
	return entries, false, rows.Err()
}

func valueOf(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// History returns the entries of a user before a cursor, or the newest, and whether others follow. The error is
// [models.ErrNotFound] if there is neither the user nor an entry, and otherwise as for [Users.Changes].
func (u *Users) History(ctx context.Context, who Who, before string, limit int) (entries []models.Change, more bool, err error) {
	err = u.snapshot(ctx, func(tx *gorm.DB) (err error) {
		id, err := u.idOf(tx, who)
		if err == nil {
			all := func(*models.Change) bool { return true }
			entries, more, err = u.page(tx.Where("user_id = ?", id), before, limit, all)
		}
		if err == nil && len(entries) == 0 && before == "" {
			_, err = u.find(tx, Who{ID: id})
		}
		return err
	})
	return entries, more, err
}

// idOf returns the id of the user who is meant, who may be gone if it is meant by that.
func (u *Users) idOf(tx *gorm.DB, who Who) (int64, error) {
	if who.Email == "" {
		return who.ID, nil
	}
	user, err := u.find(tx, who)
	return user.ID, err
}

// Deleted returns the entries of users who were deleted and have every word of a text, if there is one, each with the user
// as it was, and whether others follow.
func (u *Users) Deleted(ctx context.Context, text, before string, limit int) (entries []models.Change, more bool, err error) {
	words := models.FoldedWords(text)
	if text != "" && len(words) == 0 {
		return nil, false, nil
	}
	isWanted := func(change *models.Change) bool {
		change.User = u.userOf(change)
		return u.fields.HasWords(&change.User.Profile, words)
	}
	err = u.snapshot(ctx, func(tx *gorm.DB) (err error) {
		query := tx.Where(`op = 'deleted' AND before IS NOT NULL
			AND NOT EXISTS (SELECT 1 FROM users_changes AS later
				WHERE later.user_id = users_changes.user_id AND later.seq > users_changes.seq)
			AND NOT EXISTS (SELECT 1 FROM users WHERE id = user_id)`)
		entries, more, err = u.page(query, before, limit, isWanted)
		return err
	})
	return entries, more, err
}

// userOf returns the user whom an entry says to be deleted, with the fields that are served.
func (u *Users) userOf(deletion *models.Change) *models.User {
	var values map[string]any // texts, NULL and the id
	_ = json.Unmarshal([]byte(valueOf(deletion.Before)), &values)
	user := &models.User{ID: *deletion.UserID}
	user.CreatedAt, _ = values["created_at"].(string)
	for _, field := range u.fields {
		if text, ok := values[field.Name].(string); ok {
			field.Set(&user.Profile, text)
		}
	}
	return user
}

// Restore creates a user again who was deleted: with the old id, the time of creation, and the values that the last deletion
// has recorded, or those that are given. The error is [models.ErrExists], [models.ErrNotDeleted], or as for [Users.Create].
func (u *Users) Restore(ctx context.Context, id int64, given models.Values) (user models.User, err error) {
	err = u.write(ctx, func(tx *gorm.DB) ([]models.Change, error) {
		if _, err := u.find(tx, Who{ID: id}); !errors.Is(err, models.ErrNotFound) {
			return nil, cmp.Or(err, models.ErrExists)
		}
		var deletion models.Change
		found := tx.Where("user_id = ? AND op = ?", id, models.OpDeleted).Order("seq DESC").Limit(1).Find(&deletion)
		if found.Error != nil || deletion.Before == nil {
			return nil, cmp.Or(found.Error, models.ErrNotDeleted)
		}
		restored := u.userOf(&deletion)
		given := given // the transaction may begin again
		if err := u.fields.Settle(&given, &restored.Profile); err != nil {
			return nil, err
		}
		for field := range u.fields.In(given.Given) {
			field.Copy(&restored.Profile, &given.Profile)
		}
		u.setTimes(&restored.Profile)
		createdAt := restored.CreatedAt
		if err := effect(tx.Clauses(returnID).Create(restored), 1); err != nil {
			return nil, err
		}
		if user = *restored; createdAt == "" { // GORM has let the database give one
			user.CreatedAt = ""
			if err := tx.Model(&models.User{}).Where("id = ?", id).Update("created_at", nil).Error; err != nil {
				return nil, recordError{err}
			}
		}
		return created(id), nil
	})
	failure, _ := errors.AsType[*models.StorageError](err)
	if failure != nil && failure.Unique && strings.HasSuffix(failure.Column, "id") { // on PostgreSQL, another was faster
		err = models.ErrExists
	}
	return user, err
}

// Erase removes the values and authors of a user's entries: what is left says that something was written, for the feed. It
// returns the id of the user.
func (u *Users) Erase(ctx context.Context, who Who) (id int64, err error) {
	err = u.write(ctx, func(tx *gorm.DB) (_ []models.Change, err error) {
		if id, err = u.idOf(tx, who); err != nil {
			return nil, err
		}
		erased := tx.Model(&models.Change{}).Where("user_id = ?", id).
			Updates(map[string]any{"before": nil, "after": nil, "by": nil, "request": nil})
		if erased.Error == nil && erased.RowsAffected == 0 {
			return nil, models.ErrNotFound
		}
		return nil, erased.Error
	})
	return id, err
}
