package postgres

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"users-api/models"
	"users-api/models/spool"
)

// An import takes as long as it takes: each of its steps has its own limit. Until its commit begins it has done nothing,
// so that it may be done again on another connection.
var bulk = use{limit: 24 * time.Hour}

// importTries is how often an import is tried that PostgreSQL ends because it and another transaction wait for each other.
const importTries = 3

// importLock is the number of the lock that imports take, so that they take turns. It is "files" in ASCII.
const importLock int64 = 0x66696c6573

// Import stores the users of a file. The good rows are spooled while they arrive; only then is a connection taken. An
// import of this process takes its turn before it does so: many that wait would take the connections of all others.
func (u *Users) Import(
	ctx context.Context, rows iter.Seq2[models.ImportRow, error], options models.ImportOptions,
) (models.Imported, error) {
	spooled := u.reader.spools.New()
	defer spooled.Close()
	bad, err := spooled.Receive(rows)
	if err != nil {
		return models.Imported{}, explainSpool(err)
	}
	i := &fileImport{users: u, options: options, rows: spooled, bad: bad}
	err = u.write(func() error {
		select {
		case u.importing <- struct{}{}:
			defer func() { <-u.importing }()
		case <-ctx.Done():
			return ctx.Err()
		case <-u.database.ended.Done():
			return models.ErrClosed
		}
		return u.database.on(ctx, bulk, i.run)
	})
	if err != nil {
		return models.Imported{}, err
	}
	return i.done, nil
}

// fileImport is one import.
type fileImport struct {
	users   *Users
	options models.ImportOptions
	rows    *spool.Spool       // the good rows
	bad     models.RefusedRows // those that could not be read, and how many there are in all

	// What follows belongs to the transaction.
	conn      connection
	table     table
	together  int   // how many rows are stored by one statement
	duplicate error // what PostgreSQL says of a row whose email exists
	refused   models.RefusedRows
	done      models.Imported
	seen      models.IDSet // the users that rows have created or found
}

// run does the import in a transaction of its own. An error takes everything back.
func (i *fileImport) run(ctx context.Context, conn connection) (err error) {
	for range importTries {
		err = i.runOnce(ctx, conn)
		if class(sqlState(err)) != classRollback {
			break
		}
	}
	return err
}

func (i *fileImport) runOnce(ctx context.Context, conn connection) error {
	i.conn, i.together, i.duplicate = conn, chunkRows, nil
	i.refused, i.done, i.seen = i.bad, models.Imported{}, models.IDSet{}
	i.refused.Listed = slices.Clone(i.bad.Listed)
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{BeginQuery: beginWrite})
	if err != nil {
		return err
	}
	err = i.runAll(ctx)
	if err != nil || i.options.DryRun {
		_ = tx.Rollback(ctx) // where it fails, the connection is thrown away, and the transaction with it
		return err
	}
	return i.users.commitLong(ctx, conn, tx)
}

// immediately makes the constraints of a transaction be checked after each statement, so that a row that violates one is
// refused by itself, and also in a dry run.
const immediately = "SET CONSTRAINTS ALL IMMEDIATE"

// prepareImport begins with the lock that only a change of the table waits for. The planner believes what it knew of the
// table when the import began; a scan of all users for each chunk would take hours, so it is told to use the index. From
// here on another program may hold a lock, and an import holds its own meanwhile: it waits 5 s.
const prepareImport = immediately + "; SET LOCAL lock_timeout = '5s'; LOCK TABLE users IN ROW EXCLUSIVE MODE; " +
	"SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL jit = off"

func (i *fileImport) runAll(ctx context.Context) (err error) {
	if err := i.conn.simple(ctx, fmt.Sprintf("SET LOCAL lock_timeout = 0; SELECT pg_advisory_xact_lock(%d)", importLock)); err != nil {
		return err
	}
	if err := i.conn.simple(ctx, prepareImport); err != nil {
		return err
	}
	if i.table, err = i.conn.describe(ctx); err != nil {
		return err
	}
	if i.options.OnConflict != models.ConflictFails && !i.table.emailKey {
		return models.ErrNotUnique
	}
	if err := i.storeAll(ctx); err != nil {
		return err
	}
	if i.refused.Refused > 0 {
		return &i.refused
	}
	if i.options.DeleteMissing {
		return i.deleteMissing(ctx)
	}
	return nil
}

// commitLong commits a long transaction. The end of the context takes everything back before it begins, and nothing after
// that.
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
