package models

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"users-api/models/dbfile"
)

// Create stores a user and returns its id. A duplicate email is an error of storage.
func (u *Users) Create(ctx context.Context, user NewUser) (int64, error) {
	w := &write{user: &User{NewUser: user}}
	err := u.write(ctx, w)
	return w.user.ID, err
}

// Change changes the user with the id, and returns the user as stored after the change.
func (u *Users) Change(ctx context.Context, id int64, change Values, allow Condition) (user User, err error) {
	isOne := allow == nil && change.Fields != 0
	err = u.write(ctx, &write{isOneStatement: isOne, run: func(tx *transaction) (err error) {
		if !isOne {
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

// update gives a user the values that another one has in some fields, and returns the user before triggers do something with it.
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
func (u *Users) Delete(ctx context.Context, id int64, allow Condition) error {
	if allow == nil {
		return u.write(ctx, &write{deleted: &id})
	}
	return u.write(ctx, &write{run: func(tx *transaction) error {
		if _, err := u.lockIfAllowed(tx.DB, id, allow); err != nil {
			return err
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

// commit runs writes in one transaction, and answers each when that is on disk. Where the database refuses a statement and it
// is not known which write is to blame, each half has a transaction of its own. What a statement for many writes has skipped, and
// what waits for another program, goes on by itself: no other waits for it.
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
	how := asOneStatement
	if slices.ContainsFunc(batch, func(w *write) bool {
		return w.run != nil && !w.isOneStatement || (w.user == nil) != (batch[0].user == nil)
	}) {
		how = inTransaction
	}
	first := slices.MinFunc(batch, func(a, b *write) int { return a.arrived.Compare(b.arrived) }).arrived
	err := u.pool.write(first, how, func(tx *transaction) error { return u.run(tx, batch) })
	if half := len(batch) / 2; half > 0 && u.isRefusal(err) {
		u.commit(batch[:half])
		u.commit(batch[half:])
		return
	}
	_, gaveUp := errors.AsType[gaveUpError](err)
	var stored, younger []*write
	for _, w := range batch {
		switch {
		case errors.Is(err, errLocked):
			go u.commitAlone(w)
		case errors.Is(err, errRewritten), err == nil && w.skipped:
			go u.commit([]*write{w})
		case gaveUp && w.arrived.After(first) && time.Since(w.arrived) < dbfile.BusyTimeout:
			younger = append(younger, w) // it has not waited for as long
		default:
			stored = append(stored, w)
		}
	}
	u.answer(stored, err)
	if len(younger) > 0 {
		u.commit(younger)
	}
}

// writing is how writes are run.
type writing int

const (
	inTransaction  writing = iota
	asOneStatement         // they are one statement, which may commit by itself
	untilFree              // it is one write, which waits for the locks of other programs
)

// commitAlone runs a write that another program's lock may hold up for as long as a write may wait.
func (u *Users) commitAlone(w *write) {
	err := u.pool.write(w.arrived, untilFree, func(tx *transaction) error { return u.run(tx, []*write{w}) })
	u.answer([]*write{w}, err)
}

// answer tells writes how their transaction has ended.
func (u *Users) answer(batch []*write, err error) {
	stored := uint(0)
	for _, w := range batch {
		if err == nil && w.refusal == nil {
			stored++
		}
		shown, _ := u.classify(cmp.Or(err, w.refusal))
		w.done <- shown
	}
	u.commits.count(stored)
}

// run runs writes in a transaction: first all creations and deletions, in as few statements as possible. With an error, all are
// rolled back. On SQLite, a statement that is refused leaves nothing behind, unless a trigger of another program has done
// something before.
func (u *Users) run(tx *transaction, batch []*write) error {
	var created, deleted []*write
	for _, w := range batch {
		switch w.refusal, w.skipped = nil, false; {
		case w.user != nil:
			created = append(created, w)
		case w.deleted != nil:
			deleted = append(deleted, w)
		}
	}
	if err := u.create(tx, created); err != nil {
		return err
	}
	if err := u.delete(tx, deleted); err != nil {
		return err
	}
	for _, w := range batch {
		if w.run != nil {
			w.refusal = w.run(tx)
			if isDatabase(w.refusal) && (u.limits.ownChanges || tx.table.triggers || !u.isRefusal(w.refusal)) {
				return w.refusal
			}
		}
	}
	return nil
}

// delete removes users, and skips those who are not there.
func (u *Users) delete(tx *transaction, writes []*write) error {
	if len(writes) == 0 {
		return nil
	}
	ids := map[int64]*write{}
	for _, w := range writes {
		w.skipped = true
		ids[*w.deleted] = w
		tx.wrote.Add(*w.deleted)
	}
	var gone []User
	returning := clause.Returning{Columns: []clause.Column{{Name: "id"}}}
	deleted := tx.Clauses(returning).Where("id IN ?", slices.Collect(maps.Keys(ids))).Delete(&gone)
	switch {
	case len(writes) == 1:
		writes[0].skipped = false
		writes[0].refusal = u.orNothing(deleted, *writes[0].deleted)
		if isDatabase(writes[0].refusal) {
			return writes[0].refusal
		}
		return nil
	case deleted.Error == nil && len(gone) < len(ids) && tx.table.triggers:
		return errRewritten
	}
	for _, user := range gone {
		ids[user.ID].skipped = false
	}
	return deleted.Error
}

// create stores users, and skips those whose email is taken. No order of the ids that a statement returns is promised, so they
// come with the emails, which must differ and stay as they are: triggers of other programs may do anything with them.
func (u *Users) create(tx *transaction, writes []*write) error {
	hasTriggers, db := tx.table.triggers, tx.DB
	if len(writes) > 1 && !hasTriggers {
		db = db.Clauses(skipTaken{})
	}
	var users []*User
	sent, now := map[string]*write{}, time.Now().UTC().Format(time.DateTime)
	for _, w := range writes {
		w.user.ID = 0
		if w.skipped = sent[w.user.Email] != nil; !w.skipped {
			users = append(users, &User{NewUser: w.user.NewUser, CreatedAt: now})
			sent[w.user.Email] = w
		}
	}
	if len(users) == 0 {
		return nil
	}
	created := u.insert(db, users)
	switch isShort := created.RowsAffected < int64(len(users)); {
	case created.Error != nil && hasTriggers && u.limits.ownChanges && len(writes) > 1 && u.isRefusal(created.Error):
		return errRewritten // the halves of many would take too long one after the other
	case created.Error != nil:
		return created.Error
	case isShort && len(writes) == 1:
		return ErrIgnored
	case isShort && hasTriggers:
		return errRewritten
	}
	for _, user := range users {
		w := sent[user.Email]
		switch {
		case user.ID == 0: // as many are left as were skipped
			continue
		case len(writes) == 1:
			w = writes[0] // a trigger may have changed the email
		case w == nil || w.user.ID != 0:
			return errRewritten
		}
		w.user.ID = user.ID
		tx.wrote.Add(user.ID)
	}
	for _, w := range sent {
		w.skipped = w.user.ID == 0
	}
	return nil
}

// skipTaken makes an INSERT pass over the users that a unique index refuses. GORM reads what RETURNING brings back into the first
// of the users, but after its own clause.OnConflict only into those without values.
type skipTaken struct{ clause.OnConflict }

func (s skipTaken) Build(builder clause.Builder)      { clause.OnConflict{DoNothing: true}.Build(builder) }
func (s skipTaken) MergeClause(merged *clause.Clause) { merged.Expression = s }

// insert stores users, up to 80 in a statement (266 on PostgreSQL), and reads back their ids and emails.
func (u *Users) insert(tx *gorm.DB, users []*User) *gorm.DB {
	returning := clause.Returning{Columns: []clause.Column{{Name: "id"}, {Name: "email"}}}
	return tx.Clauses(returning).CreateInBatches(users, u.limits.maxParameters/(len(u.fields)+1))
}

var (
	errLocked    = errors.New("another program holds a lock")
	errRewritten = errors.New("a trigger has changed or ignored some of the users")
)

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
	_, isRefusal := u.classify(err)
	return isRefusal
}
