// Package imports stores the rows of a file in one transaction of an engine. It decides everything that does not depend
// on the engine: which rows are stored together, what happens to a row whose email exists, which rows are refused and
// why, which users are missing from the file, and what is counted.
//
// At first, rows are stored as if all their users were new. After the first row whose email exists, the users who have
// the emails are looked up before each statement. If a statement is refused, half as many rows are tried, down to the
// one that is to blame.
package imports

import (
	"context"
	"errors"
	"iter"
	"math"
	"slices"

	"users-api/models"
	"users-api/models/spool"
)

// Table is the table users in the transaction of an import. A method that writes does all that it is asked for, or
// fails.
type Table interface {
	// Get returns the user with an id, or [models.ErrNotFound].
	Get(ctx context.Context, id int64) (models.User, error)
	// Find returns the users who have the emails of rows, by the index of the row.
	Find(ctx context.Context, rows []models.ImportRow) (map[int]*models.User, error)
	// Insert creates users and returns their ids, in the same order.
	Insert(ctx context.Context, rows []models.ImportRow) (ids []int64, err error)
	// Update gives users new values, all for the same fields.
	Update(ctx context.Context, updates []Update) error
	// IDs returns the lowest ids that are at least from, and at most limit of them.
	IDs(ctx context.Context, from int64, limit int) ([]int64, error)
	// Delete deletes users, and returns how many of them still existed.
	Delete(ctx context.Context, ids []int64) (deleted int, err error)
	// InSavepoint calls run, and undoes what it has stored if it fails. The context of run may end earlier.
	InSavepoint(ctx context.Context, run func(context.Context) error) error
	// Refusal returns who is to blame for an error, and the error as the contract of storage defines it.
	Refusal(ctx context.Context, err error) (Blame, error)
}

// Update gives a user new values.
type Update struct {
	ID int64
	models.Values
}

// Blame says who is to blame for an error.
type Blame int

const (
	NoRow   Blame = iota // the import ends
	OneRow               // the import goes on without the row
	LastRow              // the row has ended the transaction, so no other row can be checked
)

// Emails says what the indexes of a table do for emails.
type Emails struct {
	FindsUser   bool // an index finds the one user who has an email
	IgnoresCase bool // two emails that differ only in the case of ASCII letters are the same
}

// Limits bound what is stored together.
type Limits struct {
	// Rows is the maximum number of rows. Bytes is how many bytes their texts have, at least, when no more are added.
	Rows, Bytes int
	// SpendsIDs: a creation that is refused spends an id. Then users are looked up before the first creation, unless a
	// conflict refuses the file anyway.
	SpendsIDs bool
}

// Import is the import of one file.
type Import struct {
	options models.ImportOptions
	fields  models.Fields
	limits  Limits
	rows    *spool.Spool       // the rows that could be read
	bad     models.RefusedRows // the others, and how many there are in all

	// The following fields belong to one run.
	table     Table
	emails    Emails
	together  int   // how many rows the next statement stores
	finds     bool  // the users who have the emails are looked up first
	duplicate error // the engine's error for a row whose email exists
	refused   models.RefusedRows
	done      models.Imported
	seen      models.IDSet // the users that rows have created or found
}

// Receive takes all rows of a file, however slowly they come, and returns the import that stores them. The caller closes
// it.
func Receive(area *spool.Area, fields models.Fields, rows iter.Seq2[models.ImportRow, error],
	options models.ImportOptions, limits Limits) (*Import, error) {
	i := &Import{options: options, fields: fields, limits: limits, rows: area.New()}
	var err error
	if i.bad, err = i.rows.Receive(rows); err != nil {
		i.Close()
		return nil, err
	}
	return i, nil
}

// Close discards the rows.
func (i *Import) Close() { i.rows.Close() }

// Run stores the rows in a table. After an error the caller rolls everything back, and it may then run the import again.
// The error is [*models.RefusedRows], [*models.TooManyDeletes], [models.ErrNotUnique], the context's, or the table's.
func (i *Import) Run(ctx context.Context, table Table, emails Emails) (models.Imported, error) {
	if i.options.OnConflict != models.ConflictFails && !emails.FindsUser {
		return models.Imported{}, models.ErrNotUnique
	}
	i.table, i.emails, i.together = table, emails, i.limits.Rows
	i.finds = i.limits.SpendsIDs && i.options.OnConflict != models.ConflictFails
	i.refused, i.done, i.seen = i.bad, models.Imported{}, models.IDSet{}
	i.refused.Listed = slices.Clone(i.bad.Listed)
	err := i.storeAll(ctx)
	switch {
	case err != nil:
	case i.refused.Refused > 0:
		err = &i.refused
	case i.options.DeleteMissing:
		err = i.deleteMissing(ctx)
	}
	if err != nil {
		return models.Imported{}, err
	}
	return i.done, nil
}

// storeAll stores the rows. An error ends the import; a refused row does not.
func (i *Import) storeAll(ctx context.Context) error {
	var chunk []models.ImportRow
	bytes := 0
	for row, err := range i.rows.Rows() {
		if err != nil {
			return err
		}
		chunk = append(chunk, row)
		bytes += i.fields.Bytes(&chunk[len(chunk)-1].User)
		if len(chunk) < i.limits.Rows && bytes < i.limits.Bytes {
			continue
		}
		if err := i.storeChunk(ctx, chunk); err != nil {
			return err
		}
		chunk, bytes = chunk[:0], 0
	}
	return i.storeChunk(ctx, chunk)
}

// storeChunk stores rows. A row with the email of an earlier row is stored after all others: it must find what that
// earlier row has left.
func (i *Import) storeChunk(ctx context.Context, rows []models.ImportRow) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	for len(rows) > 0 {
		var first, later []models.ImportRow
		emails := make(map[string]bool, len(rows))
		for _, row := range rows {
			email := row.User.Email
			if i.emails.IgnoresCase {
				email = models.LowerASCII(email)
			}
			if emails[email] {
				later = append(later, row)
				continue
			}
			emails[email] = true
			first = append(first, row)
		}
		if err := i.storeDifferent(ctx, first); err != nil {
			return err
		}
		rows = later
	}
	return nil
}

// storeDifferent stores rows with different emails, as many together as possible. If a statement is refused, half as
// many are tried; if it succeeds, twice as many.
func (i *Import) storeDifferent(ctx context.Context, rows []models.ImportRow) error {
	for len(rows) > 0 {
		n := min(i.together, len(rows))
		blame, refusal := i.storeSome(ctx, rows[:n])
		switch {
		case refusal == nil:
			i.together = min(2*i.together, i.limits.Rows)
		case blame == NoRow:
			return refusal
		case n > 1:
			i.together = n / 2
			continue
		default:
			i.refused.Add(&models.RowError{Line: rows[0].Line, Err: refusal})
			if blame == LastRow {
				return &i.refused
			}
		}
		rows = rows[n:]
	}
	return nil
}

// storeSome stores rows, all or none. If one of their emails exists, it looks up the users and tries again. A single row
// is always tried twice where it may update a user: another transaction may have deleted the user after the lookup.
func (i *Import) storeSome(ctx context.Context, rows []models.ImportRow) (blame Blame, refusal error) {
	for range 2 {
		done := &chunk{Import: i, rows: rows}
		err := i.table.InSavepoint(ctx, done.store)
		if err == nil {
			done.note()
			return NoRow, nil
		}
		blame, refusal = i.table.Refusal(ctx, err)
		failed, _ := errors.AsType[*models.StorageError](refusal)
		isDuplicate := failed != nil && failed.Duplicate
		again := isDuplicate || len(rows) == 1 && i.options.OnConflict != models.ConflictFails
		if blame != OneRow || !i.emails.FindsUser || !again {
			break
		}
		if isDuplicate {
			i.finds, i.duplicate = true, refusal
		}
	}
	return blame, refusal
}

const missingPage = 10_000 // how many ids are compared with those in the file at once

// deleteMissing deletes the users that are not in the file. If there are too many, it only counts the rest.
func (i *Import) deleteMissing(ctx context.Context) error {
	i.done.DeletedUsers = []models.DeletedUser{}
	missing := 0
	for from, more := int64(math.MinInt64), true; more; {
		ids, err := i.table.IDs(ctx, from, missingPage)
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		if more = len(ids) == missingPage && ids[len(ids)-1] < math.MaxInt64; more {
			from = ids[len(ids)-1] + 1
		}
		gone := slices.DeleteFunc(ids, i.seen.Has)
		if err := i.listDeleted(ctx, gone); err != nil {
			return err
		}
		if missing += len(gone); missing > i.options.MaxDeletes || len(gone) == 0 {
			continue
		}
		deleted, err := i.table.Delete(ctx, gone)
		if err != nil {
			return err
		}
		i.done.Deleted += deleted
	}
	if missing > i.options.MaxDeletes {
		return &models.TooManyDeletes{Missing: missing, Max: i.options.MaxDeletes, Users: i.done.DeletedUsers}
	}
	return nil
}

// listDeleted lists the first of the users that are deleted. Another transaction may have deleted one of them already.
func (i *Import) listDeleted(ctx context.Context, gone []int64) error {
	for _, id := range gone[:min(len(gone), models.MostListed-len(i.done.DeletedUsers))] {
		user, err := i.table.Get(ctx, id)
		if errors.Is(err, models.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		i.done.DeletedUsers = append(i.done.DeletedUsers, models.DeletedUser{ID: id, Email: user.Email})
	}
	return nil
}
