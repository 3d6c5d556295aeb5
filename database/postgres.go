package database

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"
	"gorm.io/gorm"

	"users-api/models"
)

// postgresPool is the connections to a PostgreSQL database, version 13 or newer.
//
// Nothing is stored in a session, because behind a pooler the next transaction may run in another one: no advisory lock
// or temporary table outlives its transaction, and what a session sets is set in each transaction that needs it.
type postgresPool struct {
	address postgresAddress
	logger  *slog.Logger
	pool    *pgxpool.Pool
	db      *gorm.DB
	dialect postgresDialect
	ended   context.Context // ends all waiting
	commits prometheus.Histogram

	writing  *semaphore.Weighted       // held by a write under way: some connections stay for reads
	busy     *semaphore.Weighted       // held by a transaction: one connection stays for reads of one user
	answered atomic.Pointer[time.Time] // when the server has last committed a write, or refused one
}

const (
	// answerTimeout is how long a statement that looks at few users may take, with its wait for a connection, and
	// cancelTimeout how long the server then has to confirm that it has ended the statement: a client learns within 5 s
	// that the server does not answer.
	answerTimeout = 4200 * time.Millisecond
	cancelTimeout = 500 * time.Millisecond
	// cancelDelay is how long a cancelled statement has left to end by itself: 1,381 clients that left crashed PgBouncer
	// 1.18 without it, and never with it.
	cancelDelay = 100 * time.Millisecond
	// lockMargin is how long before the end of its time a write gives up to wait for a lock, so that its error says so.
	lockMargin = 200 * time.Millisecond
	// batchTimeout is how long a batch may take.
	batchTimeout = time.Minute
	// searchTimeout is how long a statement that looks at every user may take.
	searchTimeout = 2 * time.Minute
	// startTimeout is how long startup tries a server that is not there yet.
	startTimeout = 30 * time.Second
	// maxTries is how often a transaction is tried that was rolled back because of others.
	maxTries = 3
	// minConnections is how many a process needs: two for writes, one for a search or an import, and one for other
	// reads.
	minConnections = 4
)

// openPostgres connects to the database, and makes the tables that are missing, in one transaction, which processes that start
// at once take in turn: if two create a table at once, PostgreSQL refuses one of them midway. It returns how many searches can
// run at once.
func (u *Users) openPostgres(ctx context.Context, d Location) (searchers int, err error) {
	p, err := connectPostgres(ctx, d, u.ended)
	if err != nil {
		return 0, err
	}
	begin := fmt.Sprintf("BEGIN ISOLATION LEVEL READ COMMITTED; %sSET LOCAL lock_timeout = 0; "+
		"SELECT pg_advisory_xact_lock(%d); SET LOCAL lock_timeout = %d", p.address.noLimit, createLock, answerTimeout.Milliseconds())
	err = p.attempt(ctx, time.Now().Add(searchTimeout), context.DeadlineExceeded, begin, func(tx *gorm.DB) (err error) {
		u.table, err = d.prepare(tx, p.dialect)
		return err
	})
	if err != nil {
		_ = p.close(ctx) // it only waits for connections
		return 0, p.explain(err)
	}
	u.pool, u.dialect, u.commits, u.batchTime = p, p.dialect, p.commits, batchTimeout
	u.TempPrefix = filepath.Join(os.TempDir(), "users-api"+spoolName) // DATA_DIR belongs to SQLite
	return min(3, int(p.pool.Config().MaxConns)/2-1), nil             // others read and write meanwhile
}

func (p *postgresPool) read(ctx context.Context, run func(db *gorm.DB) error) error {
	return p.repeat(ctx, time.Now().Add(answerTimeout), errSlow, func(ctx context.Context) error {
		return p.connection(ctx, func(db *gorm.DB, _ *pgx.Conn) error { return run(db) })
	})
}

// snapshot calls run in a transaction that sees one moment. TRUNCATE and ALTER TABLE … TYPE are not MVCC-safe: a
// snapshot that is older than their commit sees an empty table. So the table is locked before the snapshot is taken. A
// plan that is kept for all texts would not know whether the text of a search is rare.
func (p *postgresPool) snapshot(ctx context.Context, run func(tx *gorm.DB) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	begins := time.AfterFunc(answerTimeout, func() { cancel(errSlow) })
	defer begins.Stop()
	var failed error
	begun := false
	begin := "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; " + p.address.noLimit + "SET LOCAL lock_timeout = '3500ms'; " +
		"SET LOCAL plan_cache_mode = force_custom_plan; LOCK TABLE users IN ACCESS SHARE MODE"
	err := p.attempt(ctx, time.Now().Add(searchTimeout), errSlow, begin, func(tx *gorm.DB) error {
		if begun = begins.Stop(); !begun {
			return context.Canceled // in a moment, ctx is too
		}
		failed = run(tx)
		return nil
	})
	if begun { // what run has read is used already: the end of the transaction is no matter
		err = failed
	}
	switch trouble := troubleOf(err); {
	case begun && ctx.Err() != nil && trouble.isConnections():
		err = context.Cause(ctx) // the server says that it has cancelled the statement
	case trouble == locked:
		err = errSlow
	}
	return err
}

// beginWrite begins a transaction that writes, and waits for each lock of other transactions for some milliseconds. The
// warning that no standby has confirmed the commit must arrive.
func (p *postgresPool) beginWrite(lockTimeout time.Duration) string {
	return fmt.Sprintf("BEGIN ISOLATION LEVEL READ COMMITTED; "+p.address.noLimit+
		"SET LOCAL client_min_messages = warning; SET LOCAL lock_timeout = %d", max(1, lockTimeout.Milliseconds()))
}

func (p *postgresPool) write(ctx context.Context, run write) error {
	return p.store(ctx, answerTimeout, errTooLate, func(tx *gorm.DB) error { return run.carryOut(tx, p.dialect) })
}

func (p *postgresPool) batch(ctx context.Context, run func(tx *gorm.DB) error) error {
	return p.store(ctx, batchTimeout, models.ErrBatchTooSlow, run)
}

// store calls run in a transaction on a connection of its own, and commits it. Its time begins when it gets the
// connection, as long as the server answers others: of 5,000 creations at once, 1,500 would have failed.
func (p *postgresPool) store(
	ctx context.Context, limit time.Duration, late error, run func(tx *gorm.DB) error,
) error {
	since := time.Now()
	waits, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(p.ended, stop)()
	if p.writing.Acquire(waits, 1) != nil {
		return cmp.Or(ctx.Err(), error(models.ErrClosed))
	}
	defer p.writing.Release(1)
	if last := p.answered.Load(); last != nil && last.After(since) {
		since = *last // until then it has waited for others, and not for the server
	}
	deadline := since.Add(limit)
	begin := p.beginWrite(min(answerTimeout, time.Until(deadline)) - lockMargin)
	err := p.attempt(context.Background(), deadline, late, begin, run)
	if err == nil || troubleOf(err) == refused {
		p.answered.Store(new(time.Now()))
	}
	if err == nil {
		p.commits.Observe(1)
	}
	return err
}

// importing is write for an import. Imports of all processes take turns. From then on another program may hold a lock
// while the import holds its own, so it waits 5 s for one.
func (p *postgresPool) importing(ctx context.Context, run func(tx *gorm.DB) error) error {
	return p.long(ctx, fmt.Sprintf("SELECT pg_advisory_xact_lock(%d); SET LOCAL lock_timeout = '5s'", importLock), run)
}

// trying copies the table into a temporary one, which comes before it in every search path, with its checks and unique
// indexes: those of searches would take a minute for 1,000,000 users. Triggers and foreign keys are not copied.
func (p *postgresPool) trying(ctx context.Context, run func(tx *gorm.DB) error) error {
	tried := errors.New("only tried") // rolls all back
	err := p.long(ctx, copyUsers, func(tx *gorm.DB) error { return cmp.Or(run(tx), tried) })
	if errors.Is(err, tried) {
		return nil
	}
	return err
}

// copyUsers gives the copy its name when it is complete. An identity has a sequence of its own.
const copyUsers = `CREATE TEMP TABLE tried
		(LIKE users INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING IDENTITY INCLUDING INDEXES);
	DO $$ DECLARE name text; BEGIN
		FOR name IN SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 'tried'::regclass AND NOT indisunique LOOP
			EXECUTE 'DROP INDEX ' || name;
		END LOOP;
	END $$;
	INSERT INTO tried OVERRIDING SYSTEM VALUE SELECT * FROM users;
	SELECT setval(pg_get_serial_sequence('tried', 'id'), max(id)) FROM tried;
	ALTER TABLE tried RENAME TO users`

// long calls run in a transaction that may take a day, and ends with the context, after some statements. Constraints are
// checked after each statement, so that a row that violates one is refused by itself. The planner relies on what it knew
// about the table when the import began, which may have been empty: it is told to use the index.
func (p *postgresPool) long(ctx context.Context, first string, run func(tx *gorm.DB) error) error {
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stay := context.AfterFunc(ctx, cancel)
	defer stay()
	begin := fmt.Sprintf("%s; %s; SET CONSTRAINTS ALL IMMEDIATE; SET LOCAL enable_seqscan = off; SET LOCAL jit = off",
		p.beginWrite(24*time.Hour), first)
	return p.attempt(working, time.Now().Add(24*time.Hour), errTooLate, begin, func(tx *gorm.DB) error {
		err := run(tx)
		// From here on, the client's end is no reason to break off: that would leave the outcome open.
		if err == nil {
			stay()
			time.AfterFunc(searchTimeout, cancel)
			err = ctx.Err()
		}
		return err
	})
}

// The numbers of advisory locks are what takes turns, in ASCII.
const (
	createLock int64 = 0x7573657273 // users
	importLock int64 = 0x66696c6573 // files
)

// repeat calls try until it succeeds, or fails for good: again when the connection was lost before anything can have
// been stored, and when PostgreSQL ended the transaction because of others. A server that accepts no more connections, or
// is too busy for another, is asked again until the deadline; the error is late then.
func (p *postgresPool) repeat(ctx context.Context, deadline time.Time, late error, try func(context.Context) error) error {
	ctx, end := context.WithDeadlineCause(ctx, deadline, late)
	defer end()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(p.ended, func() { cancel(models.ErrClosed) })()
	for tries, lost := 1, false; ; tries++ {
		err := try(ctx)
		_, connecting := errors.AsType[*pgconn.ConnectError](err)
		trouble := troubleOf(err)
		again := tries < maxTries && trouble == aborted
		if trouble == gone {
			p.pool.Reset() // the other connections lead to the same server
			again, lost = again || !lost, true
		}
		switch {
		case err == nil, isUnknown(err):
			return err
		case ctx.Err() != nil && trouble.isConnections():
			return context.Cause(ctx)
		case connecting && (sqlState(err) == codeTooMany || pgconn.Timeout(err)): // a trigger may raise that code, too
			_ = sleep(ctx, 20*time.Millisecond)
			tries = 0
		case !again, connecting:
			return err
		case trouble == aborted: // otherwise this one may take the same lock again before the other has woken up
			_ = sleep(ctx, 20*time.Millisecond)
		}
	}
}

// attempt calls run in a transaction, and repeats that.
func (p *postgresPool) attempt(
	ctx context.Context, deadline time.Time, late error, begin string, run func(tx *gorm.DB) error,
) error {
	return p.repeat(ctx, deadline, late, func(ctx context.Context) error { return p.transaction(ctx, begin, run) })
}

// connection calls run with a connection of its own. When the context ends, what runs there is cancelled, and the
// server's answer to that is waited for: then a write is known not to be stored. The statements have no context
// themselves, which would take two goroutines for each: the user with an id takes 74 µs without, and 114 with them.
func (p *postgresPool) connection(ctx context.Context, run func(db *gorm.DB, server *pgx.Conn) error) error {
	return p.db.WithContext(ctx).Connection(func(db *gorm.DB) error {
		var server *pgx.Conn
		if err := db.Statement.ConnPool.(*sql.Conn).Raw(func(driver any) error {
			server = driver.(*stdlib.Conn).Conn()
			return nil
		}); err != nil {
			return err
		}
		cancelled := make(chan struct{})
		end := &pgconn.CancelRequestContextWatcherHandler{
			Conn: server.PgConn(), CancelRequestDelay: cancelDelay, DeadlineDelay: cancelTimeout,
		}
		stop := context.AfterFunc(ctx, func() {
			end.HandleCancel(ctx)
			close(cancelled)
		})
		defer func() {
			if !stop() {
				<-cancelled
				end.HandleUnwatchAfterCancel()
			}
			if server.IsClosed() { // pgx would wait for the server's end of it, and the pool for pgx
				_ = server.PgConn().Conn().Close()
			}
		}()
		db.Statement.Context = context.WithoutCancel(ctx)
		return run(db.Session(&gorm.Session{NewDB: true}), server)
	})
}

// transaction calls run in a transaction, and commits it. Until its COMMIT is sent, nothing is stored, whatever
// happens.
//
// The statements that begin it travel together, and the end of it says whether a standby has confirmed it: neither can
// be had from database/sql, so pgx begins and ends it on the connection that GORM uses in between.
func (p *postgresPool) transaction(ctx context.Context, begin string, run func(tx *gorm.DB) error) error {
	if err := p.busy.Acquire(ctx, 1); err != nil {
		return err
	}
	defer p.busy.Release(1)
	return p.connection(ctx, func(db *gorm.DB, server *pgx.Conn) error {
		sent := context.WithoutCancel(ctx)
		tx, err := server.BeginTx(sent, pgx.TxOptions{BeginQuery: begin})
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback(sent) }() // unless it is committed; if this fails, the connection is discarded
		db.Statement.ConnPool = begun{db.Statement.ConnPool.(*sql.Conn), tx}
		if err := run(db); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		err = tx.Commit(sent)
		if notes := server.PgConn().CustomData(); notes[unconfirmed] == true {
			delete(notes, unconfirmed)
			err = errUnconfirmed
		}
		return commitError(err)
	})
}

// begun is a connection on which a transaction has begun. GORM sets a savepoint for one that begins inside it.
type begun struct {
	*sql.Conn
	tx pgx.Tx
}

func (b begun) Commit() error   { return b.tx.Commit(context.Background()) }
func (b begun) Rollback() error { return b.tx.Rollback(context.Background()) }

// state returns the server's snapshot: on one incarnation of one primary, an equal one means an equal table, as every commit,
// also of TRUNCATE and DDL, has a number that is never given again. After a crash, and on a standby that was promoted, numbers
// are used again, and a pooler or a changed search path may lead elsewhere: so the server's start time and its last checkpoint,
// with which a crash ends, are read too, and which database and table it is. Any commit in the cluster, ANALYZE and a
// checkpoint cost one more read of the list, and nothing else.
func (p *postgresPool) state(ctx context.Context) (state string, err error) {
	isStandby := false
	err = p.read(ctx, func(db *gorm.DB) error {
		return db.Raw(`SELECT concat_ws(' ', pg_current_snapshot(), pg_postmaster_start_time(),
				(SELECT checkpoint_lsn FROM pg_control_checkpoint()), current_database(), to_regclass('users')::oid),
			pg_is_in_recovery()`).Row().Scan(&state, &isStandby)
	})
	// This user may not call it, or a standby does not name what is under way.
	if class(sqlState(err)) == "42" || err == nil && isStandby {
		return "", nil
	}
	return state, err
}

// measure asks how many bytes the table takes with its indexes, as PostgreSQL keeps its log for the whole cluster, and how
// long the oldest entry of the feed has been held back.
func (p *postgresPool) measure(ctx context.Context) (database, _ int64, lag time.Duration) {
	_ = p.read(ctx, func(db *gorm.DB) error {
		_ = db.Raw("SELECT pg_total_relation_size(to_regclass('users'))").Row().Scan(&database)
		var held int64
		err := db.Raw(`SELECT at FROM users_changes WHERE xid >= pg_snapshot_xmin(pg_current_snapshot())
			ORDER BY xid, seq LIMIT 1`).Row().Scan(&held)
		if err == nil {
			lag = time.Since(time.UnixMilli(held))
		}
		return nil
	})
	return database, 0, lag
}

// close closes the connections. When the context ends, what still runs is cancelled, and nothing is waited for: a
// server that does not answer does not confirm a close either.
func (p *postgresPool) close(ctx context.Context) error {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		p.pool.Close() // waits for those that are in use
	}()
	select {
	case <-closed:
	case <-ctx.Done():
	}
	return nil
}
