package database

import (
	"cmp"
	"context"
	"errors"
	"math/bits"
	"slices"
	"sync/atomic"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"users-api/models"
)

// Create stores a user and returns its id. A duplicate email is an error of storage.
func (u *Users) Create(ctx context.Context, user models.Profile) (int64, error) {
	var stored models.User
	err := u.write(ctx, oneStatement, func(tx *gorm.DB) error {
		stored = u.newUser(user)
		return createdAll(tx.Clauses(returnID).Create(&stored), 1)
	})
	return stored.ID, err
}

// Change changes the user who is meant, and returns the user as stored after the change.
func (u *Users) Change(ctx context.Context, who Who, change models.Values, allow models.Precondition) (
	user models.User, err error,
) {
	way := oneStatement
	if who.Email != "" || allow != nil || change.Given == 0 {
		way = inTransaction
	}
	err = u.write(ctx, way, func(tx *gorm.DB) (err error) {
		id := who.ID
		if way == inTransaction {
			if user, err = u.lockIfAllowed(tx, who, allow); err != nil || change.Given == 0 {
				return err
			}
			id = user.ID
		}
		if user, err = u.update(tx, id, change.Given, &change.Profile); err != nil {
			return err
		}
		return u.afterTriggers(tx, &user)
	})
	return user, err
}

// maxPuts is how often a creation is tried again as a replacement, because another one was faster: every second one is,
// where four clients create and four delete a user without a pause. Where a slow trigger stores another email, no try
// succeeds: so they end after putTimeout.
const maxPuts, putTimeout = 100, 3 * time.Second

// Put gives the user with an email some values. If nobody has the email, it asks allowNew instead of allow, which is a
// precondition, too, and creates a user. It returns the user as stored.
func (u *Users) Put(ctx context.Context, email string, values models.Values, allow models.Precondition, allowNew func() error) (
	user models.User, created bool, err error,
) {
	began := time.Now()
	for tries := 1; ; tries++ {
		err = u.write(ctx, inTransaction, func(tx *gorm.DB) (err error) {
			user, err = u.lockIfAllowed(tx, Who{Email: email}, allow)
			if created = errors.Is(err, models.ErrNotFound); created {
				if err = allowNew(); err == nil {
					user, err = u.insert(tx, email, values)
				}
			} else if err == nil {
				user, err = u.update(tx, user.ID, values.Given, &values.Profile)
			}
			if err != nil {
				return err
			}
			return u.afterTriggers(tx, &user)
		})
		// Two transactions of PostgreSQL may both find nobody. The one that is refused then finds the user of the other.
		failure, _ := errors.AsType[*models.StorageError](err)
		if !created || failure == nil || !failure.Duplicate || tries == maxPuts || time.Since(began) > putTimeout {
			return user, created, err
		}
	}
}

// insert creates a user who is found by an email, and returns the user before triggers do something with it.
func (u *Users) insert(tx *gorm.DB, email string, values models.Values) (models.User, error) {
	table, err := u.catalog.table(tx)
	if err != nil {
		return models.User{}, err
	}
	user := u.newUser(values.Profile)
	switch sent := user.Email; {
	case !values.Given.Has(u.fields.Find("email")):
		user.Email = email
	case sent != email && (!table.ignoresCase || models.LowerASCII(sent) != models.LowerASCII(email)):
		return user, models.ErrOtherEmail
	}
	returning := u.returning()
	returning.Columns = append(returning.Columns, returnID.Columns...)
	err = createdAll(tx.Clauses(returning).Create(&user), 1)
	u.fields.ShowTimes(&user)
	return user, err
}

// returning lets a statement return a user as every statement reads it.
func (u *Users) returning() (returning clause.Returning) {
	for _, column := range u.columns {
		returning.Columns = append(returning.Columns, clause.Column{Name: column, Raw: true})
	}
	return returning
}

// afterTriggers reads a user again who was written, if triggers may have done something with it.
func (u *Users) afterTriggers(tx *gorm.DB, user *models.User) error {
	table, err := u.catalog.table(tx)
	if err != nil || !table.triggers && !table.writtenTwice {
		return err
	}
	stored, err := u.find(tx, Who{ID: user.ID})
	if errors.Is(err, models.ErrNotFound) {
		return nil // a trigger has deleted the user, after the change
	}
	*user = stored
	return err
}

// update gives a user the values that another one has in some fields, and returns the user before triggers do something
// with it.
func (u *Users) update(tx *gorm.DB, id int64, fields models.FieldSet, from *models.Profile) (user models.User, err error) {
	var columns []string
	for field := range u.fields.In(fields) {
		columns = append(columns, field.Name)
	}
	updated := tx.Model(&user).Clauses(u.returning()).Where("id = ?", id).Select(columns).Updates(&models.User{Profile: *from})
	user.ID = id
	u.fields.ShowTimes(&user)
	return user, u.effect(updated, id)
}

// Delete removes the user who is meant, and returns its id.
func (u *Users) Delete(ctx context.Context, who Who, allow models.Precondition) (id int64, err error) {
	way := oneStatement
	if who.Email != "" || allow != nil {
		way = inTransaction
	}
	err = u.write(ctx, way, func(tx *gorm.DB) error {
		id = who.ID
		if way == inTransaction {
			user, err := u.lockIfAllowed(tx, who, allow)
			if err != nil {
				return err
			}
			id = user.ID
		}
		return u.effect(tx.Where("id = ?", id).Delete(&models.User{}), id)
	})
	return id, err
}

// effect returns the error of a statement for one user, also if it had no effect.
func (u *Users) effect(done *gorm.DB, id int64) error {
	if done.Error != nil || done.RowsAffected > 0 {
		return done.Error
	}
	_, err := u.find(done.Session(&gorm.Session{NewDB: true}), Who{ID: id})
	return cmp.Or(err, error(models.ErrIgnored))
}

// lockIfAllowed returns the user who is meant, whom nothing else can change until the transaction ends, if a
// precondition allows that it is written.
func (u *Users) lockIfAllowed(tx *gorm.DB, who Who, allow models.Precondition) (models.User, error) {
	user, err := u.find(tx, who, clause.Locking{Strength: clause.LockingStrengthUpdate})
	if err == nil && allow != nil {
		err = allow(user)
	}
	return user, err
}

// newUser returns a user who is created now. The triggers give updated_at the same time, or one of a moment later: before
// them, the column of another program may refuse NULL.
func (u *Users) newUser(profile models.Profile) models.User {
	user := models.User{Profile: profile, CreatedAt: time.Now().UTC().Format(time.DateTime)}
	user.Added = slices.Clone(user.Added) // what is returned goes there
	for _, field := range u.fields {
		if field.Time {
			field.Set(&user.Profile, user.CreatedAt)
		}
	}
	return user
}

// createdAll returns the error of the creation of some users, or that a trigger has ignored one.
func createdAll(created *gorm.DB, users int) error {
	if created.Error == nil && created.RowsAffected < int64(users) {
		return models.ErrIgnored
	}
	return created.Error
}

// returnID lets a creation return the id alone: GORM would read the time back, too.
var returnID = clause.Returning{Columns: []clause.Column{{Name: "id"}}}

// way is how a write runs on PostgreSQL: on SQLite, all run in a transaction.
type way int

const (
	inTransaction way = iota
	oneStatement      // without BEGIN and COMMIT: once it has succeeded, run returns no error of its own
)

// write carries out a write, and returns its outcome. It must change users in one statement: where several writes share
// a transaction, one that is refused leaves nothing behind.
func (u *Users) write(ctx context.Context, way way, run func(tx *gorm.DB) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !u.writes.TryAcquire(1) { // it closes
		return models.ErrClosed
	}
	defer u.writes.Release(1)
	err := u.pool.write(ctx, way, run)
	if err != nil {
		err, _ = u.dialect.classify(err)
	}
	return err
}

// commits counts commits for [Stats].
type commits struct {
	bySize [len(Stats{}.CommitWrites)]atomic.Uint64
	writes atomic.Uint64
}

// add counts a commit of this many writes.
func (c *commits) add(writes int) {
	c.bySize[min(bits.Len(uint(writes-1)), len(c.bySize)-1)].Add(1)
	c.writes.Add(uint64(writes))
}
