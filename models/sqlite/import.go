package sqlite

import (
	"context"
	"errors"
	"iter"

	"users-api/models"
	"users-api/models/imports"
	"users-api/models/sqlite/dbfile"
	"users-api/models/statements"
)

// oneRow stores rows one by one: SQLite has no round trips to save, and names no row of a statement that fails.
var oneRow = imports.Limits{Rows: 1}

// errTakenBack rolls back the transaction of a dry run that succeeded.
var errTakenBack = errors.New("a dry run was taken back")

// Import stores the users of a file. It spools the good rows while they arrive, and only then takes the write lock.
func (u *Users) Import(ctx context.Context, rows iter.Seq2[models.ImportRow, error], options models.ImportOptions) (
	done models.Imported, err error) {
	received, err := imports.Receive(u.reader.spools, u.fields, rows, options, oneRow)
	if err != nil {
		return done, storageError(err)
	}
	defer received.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(u.writer.forced, func() { cancel(models.ErrClosed) })()
	err = u.writer.do(ctx, &write{exclusive: true, run: func(tx *transaction) (err error) {
		done, err = received.Run(ctx, importTable{tx}, tx.conn.table.emails)
		if err == nil && options.DryRun {
			err = errTakenBack
		}
		if err != nil {
			tx.rollBack()
		}
		return err
	}})
	if err != nil && !errors.Is(err, errTakenBack) {
		return models.Imported{}, storageError(err)
	}
	return done, nil
}

// importTable is the table users in the transaction of an import. It implements [imports.Table].
type importTable struct{ *transaction }

func (t importTable) Get(_ context.Context, id int64) (models.User, error) { return t.conn.get(id) }

func (t importTable) Find(_ context.Context, rows []models.ImportRow) (map[int]*models.User, error) {
	found := make(map[int]*models.User, len(rows))
	for i, row := range rows {
		var same models.Values
		same.Set(t.conn.fields.Find("email"), row.User.Email)
		query := models.Query{Equal: same}
		user, err := t.conn.one(t.conn.selected(query, statements.Scan), append(t.conn.selecting(query), int64(1))...)
		switch {
		case err == nil:
			found[i] = &user
		case !errors.Is(err, models.ErrNotFound):
			return nil, err
		}
	}
	return found, nil
}

func (t importTable) Insert(_ context.Context, rows []models.ImportRow) (ids []int64, err error) {
	ids = make([]int64, len(rows))
	for i, row := range rows {
		if ids[i], err = t.insert(row.User); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

func (t importTable) Update(_ context.Context, updates []imports.Update) error {
	for _, update := range updates {
		if _, err := t.update(update.ID, update.Values, nil); err != nil {
			return err
		}
	}
	return nil
}

// IDs returns the lowest ids from one on. An id is the rowid: see describeTable.
func (t importTable) IDs(_ context.Context, from int64, limit int) (ids []int64, err error) {
	err = t.conn.Query(func(r dbfile.Row) error {
		ids = append(ids, r.Number(0))
		return nil
	}, t.conn.IDs, from, int64(limit))
	return ids, err
}

func (t importTable) Delete(ctx context.Context, ids []int64) (int, error) {
	for _, id := range ids {
		err := context.Cause(ctx)
		if err == nil {
			err = t.inSavepoint(func(t *transaction) error { return t.delete(id, nil) })
		}
		if err != nil {
			return 0, err
		}
	}
	return len(ids), nil
}

// InSavepoint undoes what run has stored if it fails.
func (t importTable) InSavepoint(ctx context.Context, run func(context.Context) error) error {
	return t.inSavepoint(func(*transaction) error { return run(ctx) })
}

// Refusal returns who is to blame for an error. Outside of the transaction, no other row could be taken back.
func (t importTable) Refusal(_ context.Context, err error) (imports.Blame, error) {
	switch {
	case isFatal(err):
		return imports.NoRow, err
	case t.over:
		return imports.LastRow, storageError(err)
	}
	return imports.OneRow, storageError(err)
}
