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

// bulk is for an import, which takes as long as it takes: each of its steps has its own limit. Until its commit begins
// it has done nothing, so it may run again on another connection.
var bulk = use{limit: 24 * time.Hour}

// importTries is how often an import is tried if PostgreSQL ends it because of a deadlock with another transaction.
const importTries = 3

// importLock is the number of the lock with which imports take turns. It is "files" in ASCII.
const importLock int64 = 0x66696c6573

// Import stores the users of a file. It spools the good rows while they arrive, and only then takes a connection. The
// imports of this process take turns before that: many waiting imports would take the connections of all other
// requests.
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

	// The following fields belong to the transaction.
	conn      connection
	table     table
	together  int   // how many rows one statement stores
	duplicate error // PostgreSQL's error for a row whose email exists
	refused   models.RefusedRows
	done      models.Imported
	seen      models.IDSet // the users that rows have created or found
}

// run does the import in its own transaction. An error rolls everything back.
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
		_ = tx.Rollback(ctx) // if this fails, the connection is discarded, and the transaction with it
		return err
	}
	return i.users.commitLong(ctx, conn, tx)
}

// immediately makes PostgreSQL check the constraints of a transaction after each statement, so that a row that violates
// one is refused by itself, in a dry run too.
const immediately = "SET CONSTRAINTS ALL IMMEDIATE"

// prepareImport begins with a lock that only a change of the table waits for. The planner relies on what it knew about
// the table when the import began; a scan of all users for each chunk would take hours, so it is told to use the index.
// From here on another program may hold a lock while the import holds its own: the import waits 5 s for it.
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
