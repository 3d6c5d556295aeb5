package database

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"users-api/models"
)

// Create stores a user and returns its id. A duplicate email is an error of storage.
func (u *Users) Create(ctx context.Context, user models.Profile) (int64, error) {
	var stored models.User
	err := u.write(ctx, func(tx *gorm.DB) ([]models.Change, error) {
		stored = u.newUser(user)
		err := effect(tx.Clauses(returnID).Create(&stored), 1)
		return created(stored.ID), err
	})
	return stored.ID, err
}

// Change changes the user who is meant, and returns the user as stored after the change.
func (u *Users) Change(ctx context.Context, who Who, change models.Values, allow models.Precondition) (
	user models.User, err error,
) {
	err = u.write(ctx, func(tx *gorm.DB) (entries []models.Change, err error) {
		if user, err = u.lockIfAllowed(tx, who, forChange, allow); err == nil {
			user, entries, err = u.update(tx, user, change)
		}
		return entries, err
	})
	return user, err
}

// maxPuts is how often a creation is tried again as a replacement, because another one was faster: every second one is,
// where four clients create and four delete a user without a pause.
const maxPuts = 100

// Put gives the user with an email some values. If nobody has the email, it asks allowNew instead of allow, which is a
// precondition, too, and creates a user. It returns the user as stored.
func (u *Users) Put(ctx context.Context, email string, values models.Values, allow models.Precondition, allowNew func() error) (
	user models.User, isNew bool, err error,
) {
	for tries := 1; ; tries++ {
		err = u.write(ctx, func(tx *gorm.DB) (entries []models.Change, err error) {
			user, err = u.lockIfAllowed(tx, Who{Email: email}, forChange, allow)
			if isNew = errors.Is(err, models.ErrNotFound); isNew {
				if err = allowNew(); err == nil {
					user, entries, err = u.insert(tx, email, values)
				}
			} else if err == nil {
				user, entries, err = u.update(tx, user, values)
			}
			return entries, err
		})
		// Two transactions of PostgreSQL may both find nobody. The one that is refused then finds the user of the other, but
		// not in a batch, of which it is a part.
		failure, _ := errors.AsType[*models.StorageError](err)
		if !isNew || failure == nil || !failure.Duplicate || tries == maxPuts || batchOf(ctx) != nil {
			return user, isNew, err
		}
	}
}

// insert creates a user who is found by an email, and returns the user as stored, and the entry of the creation.
func (u *Users) insert(tx *gorm.DB, email string, values models.Values) (models.User, []models.Change, error) {
	if err := u.fields.Settle(&values, nil); err != nil {
		return models.User{}, nil, err
	}
	user := u.newUser(values.Profile)
	switch sent := user.Email; {
	case !values.Given.Has(u.fields.Find("email")):
		user.Email = email
	case sent != email && (!u.table.ignoresCase || models.LowerASCII(sent) != models.LowerASCII(email)):
		return user, nil, models.ErrOtherEmail
	}
	err := effect(tx.Clauses(returnID).Create(&user), 1)
	return user, created(user.ID), err
}

// update gives a user those of some values that differ, and returns the user as stored, and the entry of the change.
func (u *Users) update(tx *gorm.DB, user models.User, values models.Values) (models.User, []models.Change, error) {
	if err := u.fields.Settle(&values, &user.Profile); err != nil {
		return user, nil, err
	}
	differing := u.fields.Differing(&values, &user.Profile)
	if differing == 0 {
		return user, nil, nil
	}
	stored := u.changedUser(user, differing, &values.Profile)
	columns := u.fields.NamesIn(differing | u.fields.TimeSet())
	done := tx.Model(&models.User{}).Where("id = ?", user.ID).Select(columns).Updates(&stored)
	return stored, u.changed(user.ID, differing, &user.Profile, &stored.Profile), effect(done, 1)
}

// changedUser returns a user after a change of now that gives some fields other values.
func (u *Users) changedUser(user models.User, fields models.FieldSet, values *models.Profile) models.User {
	u.setTimes(&user.Profile)
	for field := range u.fields.In(fields) {
		field.Copy(&user.Profile, values)
	}
	return user
}

// setTimes gives updated_at, where it is served, the time of now.
func (u *Users) setTimes(profile *models.Profile) {
	profile.Added = slices.Clone(profile.Added) // the values of before stay
	for _, field := range u.fields {
		if field.Time {
			field.Set(profile, time.Now().UTC().Format(time.DateTime))
		}
	}
}

// Delete removes the user who is meant, and returns its id. To read the user first takes half as long as to let the deletion
// return it.
func (u *Users) Delete(ctx context.Context, who Who, allow models.Precondition) (id int64, err error) {
	err = u.write(ctx, func(tx *gorm.DB) ([]models.Change, error) {
		if u.keep == 0 && who.Email == "" && allow == nil { // nobody asks what the user was
			id = who.ID
			done := tx.Where("id = ?", id).Delete(&models.User{})
			if done.Error != nil || done.RowsAffected > 0 {
				return nil, done.Error
			}
		}
		user, err := u.lockIfAllowed(tx, who, forDeletion, allow)
		if err != nil {
			return nil, err
		}
		id = user.ID
		err = effect(tx.Where("id = ?", id).Delete(&models.User{}), 1)
		return u.deleted(&user), err
	})
	return id, err
}

// effect returns the error of a statement for some users, also if it has not written all of them.
func effect(done *gorm.DB, users int) error {
	if done.Error == nil && done.RowsAffected < int64(users) {
		return models.ErrNoEffect
	}
	return done.Error
}

// The locks that a write takes beforehand are those that its statement takes on PostgreSQL: a row that another transaction
// only refers to does not hold up a change.
var (
	forChange   = clause.Locking{Strength: "NO KEY UPDATE"}
	forDeletion = clause.Locking{Strength: clause.LockingStrengthUpdate}
)

// lockIfAllowed returns the user who is meant, whom nothing else can change until the transaction ends, if a
// precondition allows that it is written.
func (u *Users) lockIfAllowed(tx *gorm.DB, who Who, lock clause.Locking, allow models.Precondition) (models.User, error) {
	user, err := u.find(tx, who, lock)
	if err == nil && allow != nil {
		err = allow(user)
	}
	return user, err
}

func (u *Users) newUser(profile models.Profile) models.User {
	user := models.User{Profile: profile, CreatedAt: time.Now().UTC().Format(time.DateTime)}
	u.setTimes(&user.Profile)
	return user
}

// returnID lets a creation return the id alone: GORM would read the time back, too.
var returnID = clause.Returning{Columns: []clause.Column{{Name: "id"}}}

// write is a write in its transaction: it returns the entries that record what it has done. Its first statement that changes
// something must be the one that the database may refuse: where several writes share a transaction, one that is refused
// leaves nothing behind.
type write func(tx *gorm.DB) ([]models.Change, error)

// carryOut carries out a write, and stores its entries.
func (run write) carryOut(tx *gorm.DB, dialect dialect) error {
	entries, err := run(tx)
	if err == nil {
		err = storeEntries(tx, dialect, entries)
	}
	return err
}

// write carries out a write, signed by who writes, and returns its outcome.
func (u *Users) write(ctx context.Context, run write) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	signed := write(func(tx *gorm.DB) ([]models.Change, error) {
		entries, err := run(tx)
		return u.signed(ctx, entries), err
	})
	var err error
	if b := batchOf(ctx); b != nil {
		err = signed.carryOut(b.tx, u.dialect)
		b.wrote = err
	} else if !u.writes.TryAcquire(1) { // it closes
		return models.ErrClosed
	} else {
		defer u.writes.Release(1)
		err = u.pool.write(ctx, signed)
	}
	shown, _ := u.dialect.classify(err)
	return shown
}

// batch is a transaction in which the methods of [Users] work that get its context.
type batch struct {
	tx     *gorm.DB
	wrote  error // the outcome of the last write
	failed error // ends the transaction
}

type batchKey struct{}

func batchOf(ctx context.Context) *batch {
	b, _ := ctx.Value(batchKey{}).(*batch)
	return b
}

// Batch calls run, perhaps again, with a context in which everything happens in one transaction: what is read sees what was
// written before. If run returns an error, or the commit fails, nothing is stored. Where it does not write, it sees one
// moment, and holds up no write; where it does, the error is [models.ErrBatchTooSlow] if it takes longer than it may.
func (u *Users) Batch(ctx context.Context, writes bool, run func(ctx context.Context) error) error {
	inTransaction := func(tx *gorm.DB) error {
		b := &batch{tx: tx}
		limited, cancel := context.WithTimeout(ctx, u.batchTime)
		defer cancel()
		err := run(context.WithValue(limited, batchKey{}, b))
		switch {
		case b.failed != nil:
			return b.failed
		case limited.Err() != nil:
			return cmp.Or(ctx.Err(), error(models.ErrBatchTooSlow))
		}
		return err
	}
	if !writes {
		return u.snapshot(ctx, inTransaction)
	}
	if !u.writes.TryAcquire(1) { // it closes
		return models.ErrClosed
	}
	defer u.writes.Release(1)
	return u.storageError(ctx, u.pool.batch(ctx, inTransaction))
}

// Step calls run behind a savepoint of a batch: with an error, what it has written is rolled back. A failure that is no
// refusal of a write, and no lock of another transaction, ends the batch: the database may have rolled back all of it.
func (u *Users) Step(ctx context.Context, run func(ctx context.Context) error) error {
	b := batchOf(ctx)
	if b.failed != nil {
		return b.failed
	}
	b.wrote = nil
	err := b.tx.Transaction(func(*gorm.DB) error { return run(ctx) })
	if u.dialect.endsTransaction(b.tx, b.wrote) {
		b.failed = b.wrote
	}
	return err
}
