package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"users-api/models"
)

// outcome is what becomes of a row whose email exists.
type outcome int

const (
	skipped outcome = iota
	updated
)

// owner is the user who has the email of a row.
type owner struct {
	id   int64
	name string
}

// conflict says what becomes of a row whose email exists. An error refuses it; errOther means that PostgreSQL must be
// asked first what it says of such a row.
func (i *fileImport) conflict(user owner, row models.NewUser, duplicate error) (outcome, error) {
	switch {
	case i.options.OnConflict == models.ConflictFails && i.seen.Has(user.id):
		return 0, models.ErrRepeated
	case i.options.OnConflict == models.ConflictFails && duplicate == nil:
		return 0, errOther
	case i.options.OnConflict == models.ConflictFails:
		return 0, duplicate
	case i.options.OnConflict == models.ConflictSkips || user.name == row.Name:
		return skipped, nil
	}
	return updated, nil
}

// find returns the users who have the emails of rows, by the place of the row.
func (i *fileImport) find(ctx context.Context, rows []models.ImportRow) (found map[int]owner, err error) {
	if !i.is.lookup {
		return nil, nil
	}
	emails := make([]string, len(rows))
	for at, row := range rows {
		emails[at] = row.User.Email
	}
	found = map[int]owner{}
	err = i.conn.query(ctx, func(rows pgx.Rows) error {
		var place int
		var user owner
		err := rows.Scan(&place, &user.id, &user.name)
		found[place-1] = user
		return err
	}, i.users.table.chunkTexts(i.is.emailType).find, emails)
	return found, err
}

// storeAlone stores one row by its own statements, as a creation does. A row that cannot be stored is refused; an error
// ends the transaction.
func (i *fileImport) storeAlone(ctx context.Context, row models.ImportRow) error {
	var id int64
	err := i.conn.inSavepoint(ctx, func() (err error) {
		id, err = i.users.committer.texts.insertByRules(ctx, i.conn, row.User)
		return err
	})
	if err == nil {
		i.done.Created++
		i.seen.Add(id)
		return nil
	}
	if !isOfRow(err) {
		return err
	}
	refusal := i.refusal(ctx, err)
	if failure, _ := errors.AsType[*models.StorageError](refusal); !failure.Duplicate || !i.is.lookup {
		i.refuse(row, refusal)
		return nil
	}
	i.duplicate = refusal
	return i.storeExisting(ctx, row)
}

// storeExisting does what was asked for with a row whose email exists, as PostgreSQL has said.
func (i *fileImport) storeExisting(ctx context.Context, row models.ImportRow) error {
	found, err := i.find(ctx, []models.ImportRow{row})
	if err != nil {
		return err
	}
	user, exists := found[0]
	if !exists { // the index and the column compare in different ways
		i.refuse(row, i.duplicate)
		return nil
	}
	did, refusal := i.conflict(user, row.User, i.duplicate)
	if did == updated {
		if err = i.conn.inSavepoint(ctx, func() error { return i.rename(ctx, user.id, row.User.Name) }); isOfRow(err) {
			refusal, err = i.refusal(ctx, err), nil
		}
	}
	switch {
	case err != nil:
		return err
	case refusal != nil:
		i.refuse(row, refusal)
		return nil
	case did == updated:
		i.done.Updated++
	default:
		i.done.Skipped++
	}
	i.seen.Add(user.id)
	return nil
}

// rename gives a user another name, as a change does.
func (i *fileImport) rename(ctx context.Context, id int64, name string) error {
	before, err := i.conn.one(ctx, i.users.changes.queries.locked, id)
	if err != nil {
		return err
	}
	change := models.Change{Name: &name}
	text, values := i.users.changes.updateText(change)
	_, err = i.users.changes.update(ctx, i.conn, before, change, text, append(values, id))
	return err
}

func (i *fileImport) refuse(row models.ImportRow, refusal error) {
	i.refused.Add(&models.RowError{Line: row.Line, Err: refusal})
}

// refusal returns why a row is refused as the contract has it.
func (i *fileImport) refusal(ctx context.Context, err error) error {
	if !isDuplicate(err) {
		return storageError(err, false)
	}
	here := func(ask func(context.Context, connection) error) error { return ask(ctx, i.conn) }
	return i.users.database.duplicateBy(err, here)
}

// isOfRow reports whether rows are to blame for an error, and not the server, a lock, or a right that is missing.
func isOfRow(err error) bool {
	switch sqlState(err) {
	case "":
		return errors.Is(err, errOther) || errors.Is(err, models.ErrIgnored)
	case codeNoRight, codeUnsupported, codeNoStatement:
		return false
	}
	switch class(sqlState(err)) {
	case classRollback, classLocks, classTransaction:
		return false
	}
	return isRefusal(storageError(err, false))
}
