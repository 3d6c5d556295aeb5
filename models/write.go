package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"users-api/models/dbfile"
)

// Create stores a user and returns its id. A duplicate email is an error of storage.
func (u *Users) Create(ctx context.Context, user NewUser) (int64, error) {
	stored := &User{NewUser: user}
	err := u.write(ctx, &write{kind: isCreation, user: stored, run: func(tx *transaction) error {
		stored.ID = 0
		created := u.insert(tx.DB, []*User{stored})
		if created.Error == nil && created.RowsAffected == 0 {
			return ErrIgnored
		}
		tx.wrote.Add(stored.ID)
		return created.Error
	}})
	return stored.ID, err
}

// Change changes the user with the id, and returns the user as stored after the change.
func (u *Users) Change(ctx context.Context, id int64, change Values, allow Precondition) (user User, err error) {
	kind := isChange
	if allow != nil || change.Fields == 0 {
		kind = isOther
	}
	err = u.write(ctx, &write{kind: kind, run: func(tx *transaction) (err error) {
		if kind == isOther {
			if user, err = u.lockIfAllowed(tx.DB, id, allow); err != nil || change.Fields == 0 {
				return err
			}
		}
		tx.wrote.Add(id)
		if user, err = u.update(tx.DB, id, change.Fields, &change.User); err != nil || !tx.table.triggers {
			return err
		}
		stored, err := u.one(tx.DB, id)
		if errors.Is(err, ErrNotFound) {
			return nil // a trigger has deleted the user, after the change
		}
		user = stored
		return err
	}})
	return user, err
}

// update gives a user the values that another one has in some fields, and returns the user before triggers do something
// with it.
func (u *Users) update(tx *gorm.DB, id int64, fields FieldSet, from *NewUser) (user User, err error) {
	var columns []string
	for field := range u.fields.In(fields) {
		columns = append(columns, field.Name)
	}
	returning := clause.Returning{}
	for _, column := range u.columns {
		returning.Columns = append(returning.Columns, clause.Column{Name: column, Raw: true})
	}
	updated := tx.Model(&user).Clauses(returning).Where("id = ?", id).Select(columns).Updates(&User{NewUser: *from})
	user.ID, user.CreatedAt = id, ShownTime(user.CreatedAt)
	return user, u.orNothing(updated, id)
}

// Delete removes the user with the id.
func (u *Users) Delete(ctx context.Context, id int64, allow Precondition) error {
	kind := isDeletion
	if allow != nil {
		kind = isOther
	}
	return u.write(ctx, &write{kind: kind, id: id, run: func(tx *transaction) error {
		if allow != nil {
			if _, err := u.lockIfAllowed(tx.DB, id, allow); err != nil {
				return err
			}
		}
		tx.wrote.Add(id)
		return u.orNothing(tx.Where("id = ?", id).Delete(&User{}), id)
	}})
}

// orNothing returns the error of a statement for one user, also if it has done nothing.
func (u *Users) orNothing(done *gorm.DB, id int64) error {
	if done.Error != nil || done.RowsAffected > 0 {
		return done.Error
	}
	_, err := u.one(done.Session(&gorm.Session{NewDB: true}), id)
	return cmp.Or(err, error(ErrIgnored))
}

// lockIfAllowed returns a user, which nothing else can change until the transaction ends, if a precondition allows that
// it is written.
func (u *Users) lockIfAllowed(tx *gorm.DB, id int64, allow Precondition) (User, error) {
	user, err := u.one(tx.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate}), id)
	if err == nil && allow != nil {
		err = allow(user)
	}
	return user, err
}

// commit runs writes in one transaction, and gives each its outcome when that is on disk. What the database refuses,
// and what waits for another program ([errLocked]), is left to the callers: each goes on alone, and no other waits for
// it.
func (u *Users) commit(batch []*write) {
	oldest := slices.MinFunc(batch, func(a, b *write) int { return a.arrived.Compare(b.arrived) }).arrived
	err := u.transact(oldest, false, batch...)
	if err != nil && len(batch) > 1 {
		if _, isRefusal := u.dialect.classify(err); isRefusal {
			err = errAlone
		}
	}
	_, gaveUp := errors.AsType[gaveUpError](err)
	var younger []*write
	for _, w := range batch {
		if gaveUp && w.arrived.After(oldest) && time.Since(w.arrived) < dbfile.BusyTimeout {
			younger = append(younger, w) // it has not waited for as long
		} else {
			w.done <- cmp.Or(err, w.outcome)
		}
	}
	if len(younger) > 0 {
		u.commit(younger)
	}
}

// way is how a transaction of writes may run.
type way int

const (
	inTransaction  way = iota
	asOneStatement     // its writes are one statement, which may commit by itself
	untilFree          // it has one write, which waits for the locks of other programs
)

// transact runs writes in a transaction, and counts those that are stored. If it waits, then for as long as a write may
// wait for the locks of other programs. After a panic the process ends: others wait for the transaction, which is open.
func (u *Users) transact(since time.Time, waits bool, batch ...*write) error {
	defer func() {
		if failed := recover(); failed != nil {
			go panic(fmt.Sprintf("%v\n%s", failed, debug.Stack()))
			select {}
		}
	}()
	way := asOneStatement
	for _, w := range batch {
		if w.kind == isOther || w.kind != batch[0].kind {
			way = inTransaction
		}
	}
	if waits {
		way = untilFree
	}
	err := u.pool.write(since, way, func(tx *transaction) error {
		if len(batch) > 1 {
			return u.runTogether(tx, batch)
		}
		batch[0].outcome = batch[0].run(tx)
		return batch[0].outcome
	})
	stored := uint(0)
	for _, w := range batch {
		if err == nil && w.outcome == nil {
			stored++
		}
	}
	u.commits.count(stored)
	return err
}

// commits counts commits for [Stats].
type commits struct {
	bySize [len(Stats{}.CommitWrites)]atomic.Uint64
	writes atomic.Uint64
}

// count counts a commit of this many writes. A commit whose writes were all refused has committed nothing.
func (c *commits) count(writes uint) {
	if writes > 0 {
		c.bySize[bits.Len(writes-1)].Add(1)
		c.writes.Add(uint64(writes))
	}
}

// runTogether runs many writes in a transaction: first all creations and all deletions, in as few statements as
// possible. With an error, all are rolled back. On SQLite, a statement that is refused leaves nothing behind, unless a
// trigger of another program has done something before.
func (u *Users) runTogether(tx *transaction, batch []*write) error {
	created, deleted := map[string]*write{}, map[int64]*write{}
	for _, w := range batch {
		switch w.outcome = errAlone; w.kind {
		case isCreation:
			w.user.ID = 0
			created[w.user.Email] = w // another one with the email is left out
		case isDeletion:
			deleted[w.id] = w
		}
	}
	if err := u.create(tx, created); err != nil {
		return err
	}
	if err := u.delete(tx, deleted); err != nil {
		return err
	}
	for _, w := range batch {
		if w.kind != isChange && w.kind != isOther {
			continue
		}
		w.outcome = w.run(tx)
		shown, isRefusal := u.dialect.classify(w.outcome)
		if _, isStorages := errors.AsType[*StorageError](shown); isStorages && (tx.table.triggers || !isRefusal) {
			return w.outcome
		}
	}
	return nil
}

// delete removes users, and leaves out those who are not there.
func (u *Users) delete(tx *transaction, deleted map[int64]*write) error {
	if len(deleted) == 0 {
		return nil
	}
	for id := range deleted {
		tx.wrote.Add(id)
	}
	var gone []User
	returning := clause.Returning{Columns: []clause.Column{{Name: "id"}}}
	err := tx.Clauses(returning).Where("id IN ?", slices.Collect(maps.Keys(deleted))).Delete(&gone).Error
	if err == nil && len(gone) < len(deleted) && tx.table.triggers {
		return errAlone
	}
	for _, user := range gone {
		deleted[user.ID].outcome = nil
	}
	return err
}

// create stores users, and leaves out those whose email is taken. No order of the ids that a statement returns is
// promised, so they come with the emails, which must differ and stay as they are: triggers of other programs may do
// anything with them.
func (u *Users) create(tx *transaction, created map[string]*write) error {
	if len(created) == 0 {
		return nil
	}
	var users []*User
	for _, w := range created {
		users = append(users, &User{NewUser: w.user.NewUser})
	}
	slices.SortFunc(users, func(a, b *User) int { // in one order, two processes with the same emails cannot deadlock
		return cmp.Or(strings.Compare(LowerASCII(a.Email), LowerASCII(b.Email)), strings.Compare(a.Email, b.Email))
	})
	db := tx.DB
	if !tx.table.triggers {
		db = db.Clauses(skipTaken{})
	}
	done := u.insert(db, users)
	switch {
	case done.Error != nil:
		return done.Error
	case tx.table.triggers && done.RowsAffected < int64(len(users)):
		return errAlone
	}
	for _, user := range users {
		if user.ID == 0 { // as many are left as were skipped
			continue
		}
		w := created[user.Email]
		if w == nil || w.user.ID != 0 {
			return errAlone
		}
		w.user.ID, w.outcome = user.ID, nil
		tx.wrote.Add(user.ID)
	}
	return nil
}

// skipTaken makes an INSERT pass over the users that a unique index refuses. GORM reads what RETURNING brings back into
// the first of the users, but after its own clause.OnConflict only into those without values.
type skipTaken struct{ clause.OnConflict }

func (s skipTaken) Build(builder clause.Builder)      { clause.OnConflict{DoNothing: true}.Build(builder) }
func (s skipTaken) MergeClause(merged *clause.Clause) { merged.Expression = s }

// insert stores users, up to 80 in a statement (266 on PostgreSQL), and reads back their ids and emails.
func (u *Users) insert(tx *gorm.DB, users []*User) *gorm.DB {
	for _, user := range users {
		user.CreatedAt = time.Now().UTC().Format(time.DateTime)
	}
	returning := clause.Returning{Columns: []clause.Column{{Name: "id"}, {Name: "email"}}}
	return tx.Clauses(returning).CreateInBatches(users, u.limits.maxParameters/(len(u.fields)+1))
}

// errLocked: another program holds what a transaction needs.
var errLocked = errors.New("another program holds a lock")

// gaveUpError says that nothing was stored within the time of the write that had waited longest.
type gaveUpError struct{ error }

func (e gaveUpError) Unwrap() error { return e.error }
