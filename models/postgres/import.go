package postgres

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"users-api/models"
	"users-api/models/imports"
)

// bulk is for an import, which takes as long as it takes: each of its steps has its own limit. Until its commit begins
// it has done nothing, so it may run again on another connection.
var bulk = use{limit: 24 * time.Hour}

// importTries is how often an import is tried if PostgreSQL ends it because of a deadlock with another transaction.
const importTries = 3

// chunks are what one statement stores. With them, 1,000,000 new users take 9 s of the server's CPU time and 1.3 s of
// this process's.
var chunks = imports.Limits{Rows: 4096, Bytes: 4 << 20, SpendsIDs: true}

// Import stores the users of a file. It spools the good rows while they arrive, and only then takes a connection.
func (u *Users) Import(ctx context.Context, rows iter.Seq2[models.ImportRow, error], options models.ImportOptions) (
	done models.Imported, err error) {
	received, err := imports.Receive(u.spools, u.database.fields, rows, options, chunks)
	if err != nil {
		return done, explainSpool(err)
	}
	defer received.Close()
	if err := u.beginWrite(); err != nil {
		return done, err
	}
	defer u.writing.RUnlock()
	err = u.database.on(ctx, bulk, func(ctx context.Context, conn connection) (err error) {
		for range importTries {
			done, err = u.runImport(ctx, conn, received, options)
			if class(sqlState(err)) != classRollback {
				break
			}
		}
		return err
	})
	if err != nil {
		return models.Imported{}, err
	}
	return done, nil
}

// runImport does an import in its own transaction. An error rolls everything back.
func (u *Users) runImport(ctx context.Context, conn connection, received *imports.Import,
	options models.ImportOptions) (done models.Imported, err error) {
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{BeginQuery: beginWrite})
	if err != nil {
		return done, err
	}
	t := importTable{connection: conn, users: u}
	if options.OnConflict == models.ConflictUpdates {
		t.lock = keepEmail
	}
	if err = t.prepare(ctx); err == nil {
		done, err = received.Run(ctx, t, t.table.emails)
	}
	if err != nil || options.DryRun {
		_ = tx.Rollback(ctx) // if this fails, the connection is discarded, and the transaction with it
		return done, err
	}
	return done, u.commitLong(ctx, conn, tx)
}

// commitLong commits a long transaction. The end of the context rolls everything back before the commit begins, and
// does nothing after that.
func (u *Users) commitLong(ctx context.Context, conn connection, tx pgx.Tx) error {
	if err := ctx.Err(); err != nil {
		_ = tx.Rollback(ctx) // likewise
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), searchTime)
	defer cancel()
	defer context.AfterFunc(u.database.ended, cancel)()
	return u.database.counted(conn.outcome(tx.Commit(ctx)))
}

// importTable is the table users in the transaction of an import. It implements [imports.Table]. No step of an import
// may take longer than a search.
type importTable struct {
	connection
	users *Users
	table table  // as it is in this transaction
	lock  string // of the users who have the emails of rows
}

// prepare waits for the imports of other processes, locks the table and describes it.
func (t *importTable) prepare(ctx context.Context) (err error) {
	if err := t.simple(ctx, fmt.Sprintf(takeTurn, int64(importLock))); err != nil {
		return err
	}
	if err := t.simple(ctx, prepareImport); err != nil {
		return err
	}
	t.table, err = t.describe(ctx)
	return err
}

// InSavepoint undoes what run has stored if it fails.
func (t importTable) InSavepoint(ctx context.Context, run func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	return ignored(t.inSavepoint(ctx, run))
}

// Get returns the user with an id.
func (t importTable) Get(ctx context.Context, id int64) (models.User, error) {
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	return t.one(ctx, t.users.queries.ByID, id)
}

// Find returns the users who have the emails of rows.
func (t importTable) Find(ctx context.Context, rows []models.ImportRow) (found map[int]*models.User, err error) {
	emails := make([]string, len(rows))
	for i := range rows {
		emails[i] = rows[i].User.Email
	}
	found = make(map[int]*models.User, len(rows))
	err = t.query(ctx, func(rows pgx.Rows) error {
		user, values := &models.User{}, rows.RawValues()
		place, err := strconv.Atoi(string(values[len(values)-1]))
		if err == nil {
			err = t.readFields(values, user)
		}
		found[place-1] = user
		return err
	}, findByEmail(t.fields, t.table, t.lock), pgx.QueryResultFormats{pgx.TextFormatCode}, emails)
	return found, err
}

// Insert creates users.
func (t importTable) Insert(ctx context.Context, rows []models.ImportRow) ([]int64, error) {
	values := arrays(t.fields, len(rows), func(i int) *models.NewUser { return &rows[i].User })
	return t.ids(ctx, t.users.queries.insert, values...)
}

// Update gives users new values. If another program has deleted one of them meanwhile, that counts as ignored by a
// trigger.
func (t importTable) Update(ctx context.Context, updates []imports.Update) error {
	ids := make([]int64, len(updates))
	for i, update := range updates {
		ids[i] = update.ID
	}
	fields := models.Fields(slices.Collect(t.fields.In(updates[0].Fields)))
	values := arrays(fields, len(updates), func(i int) *models.NewUser { return &updates[i].User })
	n, err := t.exec(ctx, updateUsers(fields), append([]any{ids}, values...)...)
	if err == nil && n != int64(len(ids)) {
		err = models.ErrIgnored
	}
	return err
}

// IDs returns the lowest ids from one on.
func (t importTable) IDs(ctx context.Context, from int64, limit int) ([]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	return t.ids(ctx, t.users.queries.IDs, from, int64(limit))
}

// Delete deletes users. If one is still there, a trigger ignored its deletion; one that another program has deleted
// meanwhile is not counted.
func (t importTable) Delete(ctx context.Context, ids []int64) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	deleted, err := t.exec(ctx, deleteUsers, ids)
	if err != nil || deleted == int64(len(ids)) {
		return int(deleted), err
	}
	left := 0
	err = t.value(ctx, &left, leftOfThem, ids)
	if err == nil && left > 0 {
		err = models.ErrIgnored
	}
	return int(deleted), err
}

// Refusal returns who is to blame for an error.
func (t importTable) Refusal(ctx context.Context, err error) (imports.Blame, error) {
	switch {
	case !isOfRow(err):
		return imports.NoRow, err
	case isDuplicate(err):
		here := func(ask func(context.Context, connection) error) error { return ask(ctx, t.connection) }
		return imports.OneRow, t.users.database.duplicateBy(err, here)
	}
	return imports.OneRow, storageError(err)
}
