package models

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"users-api/models/dbfile"
)

// Create stores a user and returns its id. A duplicate email is an error of storage.
func (u *Users) Create(ctx context.Context, user NewUser) (int64, error) {
	w := &write{user: &User{NewUser: user}}
	err := u.queue.do(ctx, w)
	return w.user.ID, err
}

// Change changes the user with the id, and returns the user as stored after the change.
func (u *Users) Change(ctx context.Context, id int64, change Values, allow Condition) (user User, err error) {
	err = u.queue.do(ctx, &write{run: func(tx *gorm.DB) (err error) {
		if user, err = u.lockIfAllowed(tx, id, allow); err != nil || change.Fields == 0 {
			return err
		}
		u.engine.noteWrite(id)
		if err = u.update(tx, &user, change.Fields, &change.User); err == nil {
			user, err = u.one(tx, id)
		}
		return err
	}})
	return user, err
}

// update gives a user the values that another one has in some fields.
func (u *Users) update(tx *gorm.DB, user *User, fields FieldSet, from *NewUser) error {
	user.Added = slices.Clone(user.Added)
	var columns []string
	for field := range u.fields.In(fields) {
		field.Copy(&user.NewUser, from)
		columns = append(columns, field.Name)
	}
	return tx.Model(&User{}).Where("id = ?", user.ID).Select(columns).Updates(user).Error
}

// Delete removes the user with the id.
func (u *Users) Delete(ctx context.Context, id int64, allow Condition) error {
	return u.queue.do(ctx, &write{run: func(tx *gorm.DB) error {
		if allow != nil {
			if _, err := u.lockIfAllowed(tx, id, allow); err != nil {
				return err
			}
		}
		u.engine.noteWrite(id)
		deleted := tx.Where("id = ?", id).Delete(&User{})
		if deleted.Error == nil && deleted.RowsAffected == 0 {
			return ErrNotFound
		}
		return deleted.Error
	}})
}

// lockIfAllowed returns a user, which nothing else can change until the transaction ends, if a condition allows that it is written.
func (u *Users) lockIfAllowed(tx *gorm.DB, id int64, allow Condition) (User, error) {
	user, err := u.one(tx.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate}), id)
	if err == nil && allow != nil {
		if refusal := allow(user); refusal != nil {
			err = conditionError{refusal}
		}
	}
	return user, err
}

// commit runs writes in one transaction, and answers each. If the database refuses one of them, all run again, each in a
// savepoint, so that a refused write leaves no trace and refuses no other.
func (u *Users) commit(batch []*write) {
	// In this order two processes that store the same emails, perhaps in another case, do not wait for each other.
	email := func(w *write) string {
		if w.user == nil {
			return ""
		}
		return w.user.Email
	}
	slices.SortStableFunc(batch, func(a, b *write) int {
		return cmp.Or(cmp.Compare(LowerASCII(email(a)), LowerASCII(email(b))), cmp.Compare(email(a), email(b)))
	})
	for len(batch) > 0 {
		first := slices.MinFunc(batch, func(a, b *write) int { return a.arrived.Compare(b.arrived) }).arrived
		err := u.engine.write(first, lockTogether, func(tx *gorm.DB) error { return u.runTogether(tx, batch) })
		switch isLocked := u.engine.locked(err); {
		case len(batch) > 1 && (isLocked || u.isRefusal(err)):
			err = u.engine.write(first, lockOneByOne, func(tx *gorm.DB) error { return u.runOneByOne(tx, batch) })
		case isLocked:
			err, batch[0].refusal = nil, err
		}
		if len(batch) > 1 && u.isRefusal(err) { // what is checked at the commit refuses one
			for _, w := range batch {
				u.queue.writers.Go(func() { u.commitAlone(w) })
			}
			return
		}
		_, gaveUp := errors.AsType[gaveUpError](err)
		stored := uint(0)
		batch = slices.DeleteFunc(batch, func(w *write) bool {
			if gaveUp && w.arrived.After(first) && time.Since(w.arrived) < dbfile.BusyTimeout {
				return false // it has not waited for as long
			}
			if err == nil && u.engine.locked(w.refusal) {
				u.queue.writers.Go(func() { u.commitAlone(w) })
				return true
			}
			if err == nil && w.refusal == nil {
				stored++
			}
			w.done <- u.engine.translate(cmp.Or(err, w.refusal))
			return true
		})
		u.commits.count(stored)
	}
}

// How long writes that share a transaction wait for another program's lock. One that has waited for so long leaves the queue.
const (
	lockTogether = 200 * time.Millisecond
	lockOneByOne = 20 * time.Millisecond
)

// commitAlone runs a write that waits for a lock of another program, for what is left of its time.
func (u *Users) commitAlone(w *write) {
	ctx, cancel := context.WithDeadline(context.Background(), w.arrived.Add(answerTimeout))
	defer cancel()
	if u.alone.Acquire(ctx, 1) == nil {
		defer u.alone.Release(1)
	}
	err := u.engine.write(w.arrived, 0, func(tx *gorm.DB) error { return u.runTogether(tx, []*write{w}) })
	if err == nil && w.refusal == nil {
		u.commits.count(1)
	}
	w.done <- u.engine.translate(cmp.Or(err, w.refusal))
}

// runTogether runs writes in a transaction: first all creations, in as few statements as possible.
func (u *Users) runTogether(tx *gorm.DB, batch []*write) error {
	var created []*write
	for _, w := range batch {
		w.refusal = nil
		if w.user != nil {
			created = append(created, w)
		}
	}
	if err := u.create(tx, created); err != nil {
		return err
	}
	for _, w := range batch {
		if w.user == nil {
			if w.refusal = w.run(tx); isDatabase(w.refusal) {
				return w.refusal
			}
		}
	}
	return nil
}

// runOneByOne runs writes in a transaction, each so that it leaves no trace if it is refused.
func (u *Users) runOneByOne(tx *gorm.DB, batch []*write) error {
	for _, w := range batch {
		w.refusal = u.savepoint(tx, func() error {
			if w.user != nil {
				return u.create(tx, []*write{w})
			}
			return w.run(tx)
		})
		if isDatabase(w.refusal) && !u.isRefusal(w.refusal) && !u.engine.locked(w.refusal) {
			return w.refusal
		}
	}
	return nil
}

// savepoint calls run in a transaction. What is refused leaves no trace in it. Unlike GORM's Transaction it releases the
// savepoint, as SQLite keeps the old pages of each open one: 10 GB in an import of 1,000,000 users. And it notices that a
// trigger has ended the transaction (RAISE(ROLLBACK)): then all that share the transaction fail, not only what is refused.
func (u *Users) savepoint(tx *gorm.DB, run func() error) error {
	if err := tx.Exec("SAVEPOINT one").Error; err != nil {
		return err
	}
	err := run()
	if err != nil && tx.Exec("ROLLBACK TO SAVEPOINT one").Error != nil && u.isRefusal(err) { // RollbackTo hides errors of SQLite
		return u.engine.translate(err) // which is no refusal
	}
	return cmp.Or(err, tx.Exec("RELEASE SAVEPOINT one").Error)
}

// create stores users. No order of the ids that a statement returns is promised, so they come with the emails.
func (u *Users) create(tx *gorm.DB, writes []*write) error {
	if len(writes) == 0 {
		return nil
	}
	users := make([]*User, len(writes))
	sent := make(map[string]*write, len(writes))
	now := time.Now().UTC().Format(time.DateTime)
	for i, w := range writes {
		users[i] = &User{NewUser: w.user.NewUser, CreatedAt: now}
		sent[w.user.Email] = w
	}
	if len(sent) < len(writes) {
		return errOneByOne // the ids could not be told apart
	}
	created := u.insert(tx, users)
	switch {
	case created.Error != nil:
		return created.Error
	case created.RowsAffected == int64(len(writes)):
	case len(writes) == 1:
		return ErrIgnored
	default:
		return errOneByOne // one of them was ignored
	}
	for _, user := range users {
		w := sent[user.Email]
		if len(writes) == 1 {
			w = writes[0] // a trigger may have changed the email
		}
		if w == nil {
			return errOneByOne
		}
		delete(sent, user.Email)
		w.user.ID = user.ID
		u.engine.noteWrite(user.ID)
	}
	return nil
}

// insert stores users, up to 80 in a statement (266 on PostgreSQL), and reads back their ids and emails.
func (u *Users) insert(tx *gorm.DB, users []*User) *gorm.DB {
	returning := clause.Returning{Columns: []clause.Column{{Name: "id"}, {Name: "email"}}}
	return tx.Clauses(returning).CreateInBatches(users, u.maxParameters/(len(u.fields)+1))
}

var errOneByOne = errors.New("writes cannot share a statement")

// gaveUpError says that nothing was stored within the time of the write that had waited longest.
type gaveUpError struct{ error }

func (e gaveUpError) Unwrap() error { return e.error }

// conditionError is the error of a [Condition].
type conditionError struct{ error }

func (e conditionError) Unwrap() error { return e.error }

// isDatabase reports whether the database is to blame for an error.
func isDatabase(err error) bool {
	_, isCondition := errors.AsType[conditionError](err)
	return err != nil && !isCondition && !errors.Is(err, ErrNotFound)
}

// isRefusal reports whether the database refuses what a write asks for: then it has stored nothing, and others may be stored.
func (u *Users) isRefusal(err error) bool {
	return errors.Is(err, errOneByOne) || errors.Is(err, ErrIgnored) || u.engine.refuses(err)
}
