package sqlite

import (
	"context"
	"errors"
	"iter"

	"users-api/models"
	"users-api/models/spool"
)

// errTakenBack rolls back the transaction of a dry run that succeeded.
var errTakenBack = errors.New("a dry run was taken back")

// Import stores the users of a file. It spools the good rows while they arrive, and only then takes the write lock.
func (u *Users) Import(
	ctx context.Context, rows iter.Seq2[models.ImportRow, error], options models.ImportOptions,
) (models.Imported, error) {
	spooled := u.reader.spools.New()
	defer spooled.Close()
	bad, err := spooled.Receive(rows)
	if err != nil {
		return models.Imported{}, storageError(err)
	}
	i := &fileImport{
		options: options, rows: spooled, refused: bad, present: models.IDSet{},
		stopped: func() error { return stopped(ctx, u.writer.forceClose) },
	}
	err = u.writer.doExclusive(ctx, i.run)
	if err != nil && !errors.Is(err, errTakenBack) {
		return models.Imported{}, storageError(err)
	}
	return i.done, nil
}

// stopped returns the reason to stop an import, or nil.
func stopped(ctx context.Context, forceClose <-chan struct{}) error {
	select {
	case <-forceClose:
		return models.ErrClosed
	default:
		return ctx.Err()
	}
}

// fileImport is one import.
type fileImport struct {
	options models.ImportOptions
	stopped func() error
	rows    *spool.Spool       // the good rows
	refused models.RefusedRows // at first those that could not be read

	// The following fields belong to the transaction.
	done    models.Imported
	before  int64        // the highest id before it
	present models.IDSet // the users whose email is in the file
}

// run does the import in its own transaction. An error rolls everything back.
func (i *fileImport) run(tx *transaction) error {
	err := i.runAll(tx)
	if err == nil && i.options.DryRun {
		err = errTakenBack
	}
	if err != nil {
		tx.rollBack()
	}
	return err
}

func (i *fileImport) runAll(tx *transaction) (err error) {
	if i.options.OnConflict != models.ConflictFails && !tx.table.lookup {
		return models.ErrNotUnique
	}
	if i.before, _, err = tx.conn.number("SELECT max(id) FROM users"); err != nil {
		return err
	}
	if err := i.storeAll(tx); err != nil {
		return err
	}
	if i.refused.Refused > 0 {
		return &i.refused
	}
	if i.options.DeleteMissing {
		return i.deleteMissing(tx)
	}
	return nil
}

// storeAll stores the rows. An error ends the transaction; a refused row does not.
func (i *fileImport) storeAll(tx *transaction) error {
	for row, err := range i.rows.Rows() {
		if err == nil {
			err = i.stopped()
		}
		if err != nil {
			return err
		}
		err = i.store(tx, row.User)
		if isFatal(err) {
			return err
		}
		if err != nil {
			i.refused.Add(&models.RowError{Line: row.Line, Err: storageError(err)})
		}
		if tx.over { // the row has rolled everything back: no other row can be checked
			return &i.refused
		}
	}
	return nil
}

// store stores one row. An error refuses it.
func (i *fileImport) store(tx *transaction, row models.NewUser) error {
	var id int64
	err := tx.inSavepoint(func(tx *transaction) (err error) {
		id, err = tx.insert(row)
		return err
	})
	if err == nil {
		i.done.Created++
		i.keep(id)
		return nil
	}
	failure, ok := errors.AsType[*models.StorageError](storageError(err))
	if !ok || !failure.Duplicate || tx.over {
		return err
	}
	return i.conflict(tx, row, err)
}

// conflict handles a row whose email already exists, as the options say.
func (i *fileImport) conflict(tx *transaction, row models.NewUser, duplicate error) error {
	if !tx.table.lookup {
		return duplicate
	}
	user, err := tx.queries.getByEmail(tx.conn, row.Email)
	if errors.Is(err, models.ErrNotFound) { // the index and the column compare differently
		return duplicate
	}
	if err != nil {
		return err
	}
	i.keep(user.ID)
	switch {
	case i.options.OnConflict == models.ConflictFails && user.ID > i.before:
		return models.ErrRepeated
	case i.options.OnConflict == models.ConflictFails:
		return duplicate
	case i.options.OnConflict == models.ConflictSkips || user.Name == row.Name:
		i.done.Skipped++
		return nil
	}
	err = tx.inSavepoint(func(tx *transaction) error {
		_, err := tx.update(user.ID, models.Change{Name: &row.Name}, nil)
		return err
	})
	if err == nil {
		i.done.Updated++
	}
	return err
}

// keep notes that a user is in the file.
func (i *fileImport) keep(id int64) {
	if i.options.DeleteMissing {
		i.present.Add(id)
	}
}
