package database

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"users-api/models"
)

// ImportRow is a user from one row of a file.
type ImportRow struct {
	Line          int // of the file, where the row begins
	models.Values     // those that the row has: an update leaves the user's other fields alone
}

// ImportOptions say what an import does besides creating users. The zero value refuses a row whose email exists.
type ImportOptions struct {
	DryRun      bool     // does everything, but to a copy of the users
	OnConflict  Conflict // what happens to a row whose email already exists, in storage or earlier in the file
	SkipRefused bool     // leaves refused rows out, instead of refusing the import
	// DeleteMissing deletes the users whose email is not in the file. It needs [ConflictUpdates], and no SkipRefused.
	DeleteMissing bool
	MaxDeletes    int // refuses the import if there are more of them
}

// Conflict says what happens to a row whose email already exists.
type Conflict int

const (
	ConflictFails   Conflict = iota // the import is refused
	ConflictSkips                   // the user stays as it is
	ConflictUpdates                 // the user gets the values of the row, and keeps its id and time
)

// Imported counts the users that an import created, updated and deleted.
type Imported struct {
	Created      int           `json:"created"`
	Updated      int           `json:"updated"`
	Skipped      int           `json:"skipped"` // rows whose user exists and stays as it is
	Deleted      int           `json:"deleted"`
	DeletedUsers []DeletedUser `json:"deleted_users,omitzero"` // the first of them; nil without DeleteMissing
	Refused      *RefusedRows  `json:"-"`                      // those that were left out; nil without SkipRefused
}

// DeletedUser is a user that an import deletes, or would delete, because the file does not have it.
type DeletedUser struct {
	ID    int64  `json:"id"`
	Email string `json:"email"`
}

// RowError is why a row of a file is refused: it cannot be read, or the table does not accept it.
type RowError struct {
	Line int
	Last int // the line in which it ends, if it may have other rows in it: then the file is refused as a whole
	Err  error
}

func (e *RowError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }
func (e *RowError) Unwrap() error { return e.Err }

// RefusedRows refuses an import. It counts every row that cannot be imported, so that a person can fix them all at
// once.
type RefusedRows struct {
	Listed       []*RowError // the first of these rows, in the order of the file
	Refused, All int         // how many rows are refused, out of how many
}

func (r *RefusedRows) Error() string {
	return fmt.Sprintf("%d of %d rows cannot be imported", r.Refused, r.All)
}

// Add adds a refused row.
func (r *RefusedRows) Add(row *RowError) {
	r.Refused++
	r.Listed = append(r.Listed, row)
	slices.SortStableFunc(r.Listed, func(a, b *RowError) int { return cmp.Compare(a.Line, b.Line) })
	r.Listed = r.Listed[:min(len(r.Listed), models.MaxListed)]
}

// TooManyDeletes refuses an import that would delete more users than its MaxDeletes. Users are the first of them.
type TooManyDeletes struct {
	Missing, Max int
	Users        []DeletedUser
}

func (e *TooManyDeletes) Error() string {
	return fmt.Sprintf("the users who are not in the file are %d, and at most %d may be deleted", e.Missing, e.Max)
}

const (
	// chunkRows is how many rows of a file are looked up and stored together; fewer, once their texts have chunkBytes.
	chunkRows  = 500
	chunkBytes = 1 << 20
)

var (
	// errInSteps ends a run in which the database has refused a row: only one with savepoints can name each such row.
	// They take a third of the time of an import on SQLite, and most files need none.
	errInSteps = errors.New("a row was refused")
)

// Import stores the users of a file in one transaction: all of them, or none. The rows are read in it, perhaps again,
// so they must not come from a client. A [*RowError] among them refuses its row, and any other error ends the import.
// The error is [*RefusedRows], [*TooManyDeletes], or as for every write. Until the commit begins, the end of the
// context takes all back.
func (u *Users) Import(ctx context.Context, rows iter.Seq2[ImportRow, error], options ImportOptions) (done Imported, err error) {
	if err := u.imports.Acquire(ctx, 1); err != nil {
		return done, err
	}
	defer u.imports.Release(1)
	transaction := u.pool.importing
	if options.DryRun {
		transaction = u.pool.trying
	}
	run := func(inSteps bool) error {
		return transaction(ctx, func(tx *gorm.DB) error {
			i := fileImport{Users: u, ctx: ctx, tx: tx, options: options, inSteps: inSteps, seen: idSet{}}
			err := i.run(rows)
			done = i.done
			return err
		})
	}
	if !u.writes.TryAcquire(1) { // it closes
		return done, models.ErrClosed
	}
	defer u.writes.Release(1)
	if err = run(false); errors.Is(err, errInSteps) {
		err = run(true)
	}
	if err != nil {
		return Imported{}, u.storageError(ctx, err)
	}
	if !options.DryRun {
		u.commits.Observe(1)
	}
	return done, nil
}

// fileImport is the import of one file in its transaction. Its statements fail once the context of the import has ended.
type fileImport struct {
	*Users
	ctx     context.Context
	tx      *gorm.DB
	options ImportOptions
	inSteps bool // a savepoint stands before each step
	inOrder bool // a unique value may go from one row to a later one; otherwise new users come last, in half the time
	refused RefusedRows
	done    Imported
	seen    idSet   // the users that rows have created or found
	created []int64 // the entries of creations, until there are too many
}

// idSet is a set of ids, 64 consecutive ones in each word: 1,000,000 users with consecutive ids take half a MiB.
type idSet map[int64]uint64

func (s idSet) add(id int64)      { s[id>>6] |= 1 << (id & 63) }
func (s idSet) has(id int64) bool { return s[id>>6]&(1<<(id&63)) != 0 }

func (i *fileImport) run(rows iter.Seq2[ImportRow, error]) (err error) {
	i.inOrder = slices.ContainsFunc(i.table.unique, func(name string) bool {
		return name != "email" && i.fields.Find(name) != nil // updates keep the email
	})
	if i.options.OnConflict != ConflictFails && !slices.Contains(i.table.unique, "email") {
		return models.ErrNotUnique
	}
	var chunk []ImportRow
	bytes := 0
	for row, err := range rows {
		refusal, isRow := errors.AsType[*RowError](err)
		if err != nil && !isRow {
			return err
		}
		if i.refused.All++; isRow {
			i.refused.Add(refusal)
			continue
		}
		chunk = append(chunk, row)
		if bytes += i.fields.Bytes(&row.Profile); len(chunk) == chunkRows || bytes >= chunkBytes {
			if err := i.store(chunk); err != nil {
				return err
			}
			chunk, bytes = chunk[:0], 0
		}
	}
	if err := i.store(chunk); err != nil {
		return err
	}
	switch {
	case i.options.SkipRefused:
		i.done.Refused = &i.refused
	case i.refused.Refused > 0:
		return &i.refused
	case i.options.DeleteMissing:
		err = i.deleteMissing()
	}
	if err == nil && i.done.Created > MaxRecorded {
		err = i.record(i.ctx, i.tx, models.Change{Op: models.OpMany})
	}
	return err
}

// sameEmail returns what the emails of two rows have in common if only one user may have them.
func (i *fileImport) sameEmail(email string) string {
	if i.table.ignoresCase {
		return models.LowerASCII(email)
	}
	return email
}

// find returns the users who have the emails of rows, by what [fileImport.sameEmail] returns. If none may exist, all
// rows are at first taken for new ones.
func (i *fileImport) find(rows []ImportRow) (map[string]models.User, error) {
	found := map[string]models.User{}
	if !slices.Contains(i.table.unique, "email") || i.options.OnConflict == ConflictFails && !i.inSteps {
		return found, nil
	}
	var emails []string
	for _, row := range rows {
		emails = append(emails, i.sameEmail(row.Email))
	}
	column := "email"
	if i.table.ignoresCase {
		column = i.dialect.foldedEmail()
	}
	same := i.tx.Where(column+" IN ?", emails)
	if i.options.OnConflict == ConflictUpdates { // nothing else may change them until the commit
		same = same.Clauses(forChange)
	}
	for user, err := range i.each(same) {
		if err != nil {
			return nil, err
		}
		found[i.sameEmail(user.Email)] = *user
	}
	return found, nil
}

// change is what a row does: it creates a user, or gives one other values in some fields.
type change struct {
	ImportRow
	user   models.User     // as it is before, with the id 0 for a new one
	fields models.FieldSet // none for a new user
}

func (c change) isNew() bool { return c.fields == 0 }

// store stores rows, and does what the options say with those whose user exists. One with the email of an earlier row
// comes after all others: it must find what that earlier row has left.
func (i *fileImport) store(rows []ImportRow) error {
	found, err := i.find(rows)
	if err != nil {
		return err
	}
	var changes, last []change
	var later []ImportRow
	emails := make(map[string]bool, len(rows))
	for _, row := range rows {
		email := i.sameEmail(row.Email)
		user, exists := found[email]
		switch {
		case emails[email]:
			later = append(later, row)
			continue
		case !exists && i.inOrder:
			changes = append(changes, change{ImportRow: row})
		case !exists:
			last = append(last, change{ImportRow: row})
		case i.options.OnConflict == ConflictFails:
			why := models.ErrEmailUsed
			if i.seen.has(user.ID) {
				why = models.ErrRepeated
			}
			i.refused.Add(&RowError{Line: row.Line, Err: why})
		default:
			i.seen.add(user.ID)
			// An update keeps the email: the two may differ in their letter case.
			differing := i.fields.Differing(&row.Values, &user.Profile) &^ i.fields.Find("email").Bit
			if i.options.OnConflict == ConflictSkips || differing == 0 {
				i.done.Skipped++
			} else {
				changes = append(changes, change{row, user, differing})
			}
		}
		emails[email] = true
	}
	if err := i.carryOut(append(changes, last...)); err != nil || len(later) == 0 {
		return err
	}
	return i.store(later)
}

// carryOut carries out changes. If they are refused, it tries each half by itself, down to the row that is to blame.
func (i *fileImport) carryOut(changes []change) error {
	err := i.step(changes)
	shown, isRefusal := i.dialect.classify(err)
	switch {
	case !isRefusal:
		return err
	case !i.inSteps:
		return errInSteps
	case len(changes) > 1:
		half := len(changes) / 2
		if err := i.carryOut(changes[:half]); err != nil {
			return err
		}
		return i.carryOut(changes[half:])
	}
	row := []ImportRow{changes[0].ImportRow}
	if changes[0].isNew() { // on PostgreSQL, another program may have created the user since the lookup
		if found, err := i.find(row); err != nil {
			return err
		} else if len(found) > 0 {
			return i.store(row)
		}
	}
	i.refused.Add(&RowError{Line: row[0].Line, Err: shown})
	return nil
}

// step tries changes behind a savepoint. What is refused leaves no trace. Unlike GORM's Transaction it releases the
// savepoint, as SQLite keeps the old pages of each open one: 10 GB in an import of 1,000,000 users. And it notices
// that a trigger has ended the transaction (RAISE(ROLLBACK)): then the import fails, and not only what is refused.
func (i *fileImport) step(changes []change) error {
	if !i.inSteps {
		return i.try(changes)
	}
	if err := i.tx.Exec("SAVEPOINT one").Error; err != nil {
		return err
	}
	before, created := i.done, i.created // and of the ids that are seen then, no user who is not in the file has one
	err := i.try(changes)
	if err != nil {
		i.done, i.created = before, created
		if i.tx.Exec("ROLLBACK TO SAVEPOINT one").Error != nil { // RollbackTo hides errors of SQLite
			shown, _ := i.dialect.classify(err)
			return shown // which is no refusal
		}
	}
	return cmp.Or(err, i.tx.Exec("RELEASE SAVEPOINT one").Error)
}

// try carries out changes in their order. Users who follow one another and are new, or are not, are stored together: up
// to 80 in a statement, and 266 on PostgreSQL.
func (i *fileImport) try(changes []change) error {
	for len(changes) > 0 {
		run := 1
		for run < len(changes) && changes[run].isNew() == changes[0].isNew() {
			run++
		}
		store := i.change
		if changes[0].isNew() {
			store = i.create
		}
		if err := store(changes[:run]); err != nil {
			return err
		}
		changes = changes[run:]
	}
	return nil
}

func (i *fileImport) create(changes []change) error {
	users, entries := make([]*models.User, len(changes)), make([]models.Change, len(changes))
	for at, c := range changes {
		users[at] = new(i.newUser(c.Profile))
	}
	batches := i.tx.Clauses(returnID).CreateInBatches(users, i.dialect.maxParameters()/(len(i.fields)+1))
	if err := effect(batches, len(users)); err != nil {
		return err
	}
	for at, user := range users {
		i.seen.add(user.ID)
		entries[at] = created(user.ID)
	}
	if i.done.Created += len(users); i.done.Created > MaxRecorded {
		return i.forgetCreations()
	}
	err := i.record(i.ctx, i.tx, entries...)
	for _, entry := range entries {
		if entry.Seq > 0 { // where changes are recorded
			i.created = append(i.created, entry.Seq)
		}
	}
	return err
}

// forgetCreations deletes the entries of the creations: one for all of them takes their place.
func (i *fileImport) forgetCreations() error {
	for some := range slices.Chunk(i.created, i.dialect.maxParameters()) {
		if err := i.tx.Delete(&models.Change{}, some).Error; err != nil {
			return recordError{err}
		}
	}
	i.created = nil
	return nil
}

// change stores whole users by their ids, which the transaction has locked.
func (i *fileImport) change(changes []change) error {
	users, entries := make([]*models.User, len(changes)), make([]models.Change, len(changes))
	for at, c := range changes {
		user := i.changedUser(c.user, c.fields, &c.Profile)
		users[at], entries[at] = &user, i.changed(user.ID, c.fields, &c.user.Profile, &user.Profile)
	}
	byID := clause.OnConflict{Columns: []clause.Column{{Name: "id"}}, DoUpdates: clause.AssignmentColumns(i.fields.Names())}
	batches := i.tx.Clauses(byID).Omit("created_at").CreateInBatches(users, i.dialect.maxParameters()/(len(i.fields)+1))
	if err := effect(batches, len(users)); err != nil {
		return err
	}
	i.done.Updated += len(users)
	return i.record(i.ctx, i.tx, entries...)
}

// deleteMissing deletes the users that are not in the file, and lists the first. If there are too many, it counts the rest:
// then all is rolled back.
func (i *fileImport) deleteMissing() error {
	i.done.DeletedUsers = []DeletedUser{}
	missing, rest := 0, i.tx.Model(&models.User{})
	for {
		var ids []int64
		if err := rest.Order("id").Limit(i.dialect.maxParameters()).Pluck("id", &ids).Error; err != nil {
			return err
		}
		if len(ids) == 0 {
			break
		}
		rest = i.tx.Model(&models.User{}).Where("id > ?", ids[len(ids)-1])
		gone, err := i.deleteUsers(slices.DeleteFunc(ids, i.seen.has))
		if err != nil {
			return err
		}
		for _, user := range gone[:min(len(gone), models.MaxListed-len(i.done.DeletedUsers))] {
			i.done.DeletedUsers = append(i.done.DeletedUsers, DeletedUser{ID: user.ID, Email: user.Email})
		}
		missing += len(gone)
	}
	if missing > i.options.MaxDeletes {
		return &TooManyDeletes{Missing: missing, Max: i.options.MaxDeletes, Users: i.done.DeletedUsers}
	}
	i.done.Deleted = missing
	return nil
}

// deleteUsers deletes users, of whom on PostgreSQL another program may have deleted some, and returns them by id.
func (i *fileImport) deleteUsers(ids []int64) (gone []models.User, err error) {
	var entries []models.Change
	for user, err := range i.each(i.tx.Clauses(forDeletion).Where("id IN ?", ids).Order("id")) {
		if err != nil {
			return nil, err
		}
		gone, entries = append(gone, *user), append(entries, i.deleted(user))
	}
	if len(gone) == 0 {
		return nil, nil
	}
	if err := effect(i.tx.Where("id IN ?", ids).Delete(&models.User{}), len(gone)); err != nil {
		return nil, err
	}
	return gone, i.record(i.ctx, i.tx, entries...)
}
