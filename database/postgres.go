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
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"golang.org/x/sync/semaphore"
	"gorm.io/gorm"

	"users-api/models"
)

// postgresPool is the connections to a PostgreSQL database, version 13 or newer. Other programs may use it at the same
// time, so little is kept here.
//
// Nothing is stored in a session, because behind a pooler the next transaction may run in another one: no advisory lock
// that outlives its transaction, no temporary table, no LISTEN. What a session sets is set in each transaction that
// needs it.
type postgresPool struct {
	address postgresAddress
	logger  *slog.Logger
	pool    *pgxpool.Pool
	db      *gorm.DB
	catalog *catalog
	fold    string          // see foldExpression
	ended   context.Context // ends all waiting
	commits commits

	writing, waiting *semaphore.Weighted       // held by a write under way, and by one that waits for another program's lock
	answered         atomic.Pointer[time.Time] // when the server has last committed a write, or refused one

	timelines sync.Mutex // guards newest
	newest    map[string]string
}

const (
	// answerTimeout is how long a statement that looks at few users may take, with its wait for a connection, and
	// cancelTimeout how long the server then has to confirm that it has ended the statement: a client learns within 5 s
	// that the server does not answer.
	answerTimeout = 4200 * time.Millisecond
	cancelTimeout = 500 * time.Millisecond
	// lockMargin is how long before the end of its time a write no longer waits for a lock: then it is certain that
	// nothing was stored.
	lockMargin = 700 * time.Millisecond
	// firstTurn and lastTurn are how long a write waits for a lock before others take their turn: twice as long each time.
	// If all turns are 20 ms, 2 of 200 creations have no success in their time where a trigger takes 30 ms in one row.
	firstTurn, lastTurn = 20 * time.Millisecond, 160 * time.Millisecond
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

// openPostgres connects to the database, and creates the table users if there is none.
func openPostgres(ctx context.Context, d Location, ended context.Context) (opened storage, err error) {
	p, err := connectPostgres(ctx, d, ended)
	if err != nil {
		return opened, err
	}
	var described table
	if err = p.createTable(ctx); err == nil {
		err = p.read(ctx, func(db *gorm.DB) (err error) {
			if described, err = p.catalog.dialect.describe(db, d.Fields); err != nil {
				return err
			}
			if _, err := (postgresDialect{}).cursor(db); err != nil {
				return err
			}
			return p.expectRights(db)
		})
	}
	if err != nil {
		_ = p.close(ctx) // it only waits for connections
		return opened, p.explain(err)
	}
	traits := traits{
		foldedEmail:   foldedEmail,
		lower:         `lower(%s COLLATE "C")`,
		shownTime:     `left(replace(nullif(%s, ''), 'T', ' ') || ' 00:00:00', 19)`,
		bytes:         "convert_to(%s, 'UTF8')",
		contains:      "pg_catalog.position(%s, ?) > 0",
		fold:          p.fold,
		sortKey:       "left(coalesce(%s, ''), 200)",
		beyond:        []part{{"(%[1]s, id) %[2]s (@key, @id)", "%[1]s%[3]s, id%[3]s"}},
		maxParameters: 800,
	}
	traits.searchers = min(3, int(p.pool.Config().MaxConns)/2-1)          // others read and write meanwhile
	temp := NewTempFiles(filepath.Join(os.TempDir(), "users-api-spool-")) // DATA_DIR belongs to SQLite
	return storage{
		reader: newReader(described.fields), pool: p, dialect: p.catalog.dialect, traits: traits, catalog: p.catalog,
		commits: &p.commits, Temp: temp,
	}, nil
}

// foldedEmail is an email without the case of its ASCII letters.
const foldedEmail = `lower(email COLLATE "C")`

func (p *postgresPool) read(ctx context.Context, run func(db *gorm.DB) error) error {
	deadline := time.Now().Add(answerTimeout)
	for {
		err := p.repeat(ctx, deadline, func(ctx context.Context) error {
			return p.connection(ctx, func(db *gorm.DB, _ *pgx.Conn) error { return run(db) })
		})
		if !isLocked(err) || time.Until(deadline) < lockMargin {
			return p.outcome(err, errSlow)
		}
	}
}

// snapshot calls run in a transaction that sees one moment. TRUNCATE and ALTER TABLE … TYPE are not MVCC-safe: a
// snapshot that is older than their commit sees an empty table. So the table is locked before the snapshot is taken. A
// plan that is kept for all texts would not know whether the text of a search is rare.
func (p *postgresPool) snapshot(ctx context.Context, run func(tx *gorm.DB) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	begins := time.AfterFunc(answerTimeout, cancel)
	defer begins.Stop()
	var failed error
	begun := false
	err := p.repeat(ctx, time.Now().Add(searchTimeout), func(ctx context.Context) error {
		err := p.transaction(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; "+p.address.noLimit+
			"SET LOCAL lock_timeout = '3500ms'; SET LOCAL plan_cache_mode = force_custom_plan; "+
			"LOCK TABLE users IN ACCESS SHARE MODE", func(tx *gorm.DB) error {
			if begun = begins.Stop(); !begun {
				return context.Canceled // in a moment, ctx is too
			}
			failed = run(tx)
			return failed
		})
		if !begun {
			return err
		}
		if ctx.Err() != nil && troubleOf(failed).isConnections() {
			failed = ctx.Err() // the server says that it has cancelled the statement
		}
		// What run has read is used already: it cannot run again, and the end of the transaction is no matter.
		return nil
	})
	return p.outcome(cmp.Or(err, failed), errSlow)
}

// write calls run in a transaction, and commits it. A write that waits for another program's lock lets go of its
// connection and goes on in one of a few places, so that those that wait take turns, and all others have connections
// left. While others are answered, its time has not begun: of 5,000 creations at once, 1,500 would have failed.
func (p *postgresPool) write(ctx context.Context, way way, run func(tx *gorm.DB) error) error {
	places, since, turn := p.writing, time.Now(), firstTurn
	waits, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(p.ended, stop)()
	for {
		if places.Acquire(waits, 1) != nil {
			return cmp.Or(ctx.Err(), error(models.ErrClosed))
		}
		if last := p.answered.Load(); places == p.writing && last != nil && last.After(since) {
			since = *last // until then it has waited for others, and not for the server
		}
		err := errNeedsTransaction
		if way == oneStatement && time.Since(since) < answerTimeout-lockMargin { // it must not be cancelled
			err = p.tryStatement(since.Add(answerTimeout), run)
		}
		if errors.Is(err, errNeedsTransaction) || isLocked(err) {
			err = p.tryWrite(since.Add(answerTimeout), turn, run)
		}
		if err == nil || troubleOf(err) == refused {
			p.answered.Store(new(time.Now()))
		}
		places.Release(1)
		switch {
		case err == nil:
			p.commits.add(1)
			return nil
		case !isLocked(err):
			return p.outcome(err, errTooLate)
		case time.Since(since) < answerTimeout-lockMargin:
		case p.isImporting():
			since = time.Now()
		default:
			return errTooLate
		}
		places, turn, way = p.waiting, min(2*turn, lastTurn), inTransaction
	}
}

// tryStatement calls run, which writes with one statement, without a transaction around it: one round trip instead of
// three. Behind a pooler the session has no time limit for locks, and what a trigger has changed can only be read again
// in a transaction.
func (p *postgresPool) tryStatement(deadline time.Time, run func(tx *gorm.DB) error) error {
	return p.repeat(context.Background(), deadline, func(ctx context.Context) error {
		return p.connection(ctx, func(db *gorm.DB, server *pgx.Conn) error {
			table, err := p.catalog.table(db)
			if err != nil {
				return err
			}
			if table.triggers || server.PgConn().CustomData()[own] != true {
				return errNeedsTransaction
			}
			err = run(db)
			hasDoneNothing := errors.Is(err, models.ErrNotFound) || errors.Is(err, models.ErrIgnored)
			if hasDoneNothing || pgconn.SafeToRetry(err) { // or was not sent
				return err
			}
			return confirmed(server, err)
		})
	})
}

// tryWrite calls run in a transaction that waits for a lock of the table until its time is over, and for one of a user
// or an email for its turn. The warning that no standby has confirmed the commit must arrive.
func (p *postgresPool) tryWrite(deadline time.Time, turn time.Duration, run func(tx *gorm.DB) error) error {
	return p.repeat(context.Background(), deadline, func(ctx context.Context) error {
		wait := max(1, (time.Until(deadline) - lockMargin).Milliseconds())
		begin := fmt.Sprintf("BEGIN ISOLATION LEVEL READ COMMITTED; "+p.address.noLimit+
			"SET LOCAL client_min_messages = warning; SET LOCAL lock_timeout = %d; "+
			"LOCK TABLE users IN ROW EXCLUSIVE MODE; SET LOCAL lock_timeout = %d", wait, min(turn.Milliseconds(), wait))
		return p.transaction(ctx, begin, func(tx *gorm.DB) error {
			if _, err := p.catalog.table(tx); err != nil {
				return err
			}
			return run(tx)
		})
	})
}

// isImporting reports whether any process imports a file, which may hold locks for long.
func (p *postgresPool) isImporting() (imports bool) {
	_ = p.read(p.ended, func(db *gorm.DB) error { // if it fails, the next write says why
		return db.Raw("SELECT NOT pg_try_advisory_xact_lock_shared(?)", importLock).Scan(&imports).Error
	})
	return imports
}

// importing is write for an import. Imports of all processes take turns. From then on another program may hold a lock
// while the import holds its own, so it waits 5 s for one. Constraints are checked after each statement, so that a row
// that violates one is refused by itself. The planner relies on what it knew about the table when the import began,
// which may have been empty: it is told to use the index.
func (p *postgresPool) importing(ctx context.Context, run func(tx *gorm.DB) error) error {
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stay := context.AfterFunc(ctx, cancel)
	defer stay()
	begin := fmt.Sprintf("BEGIN ISOLATION LEVEL READ COMMITTED; "+p.address.noLimit+
		"SET LOCAL client_min_messages = warning; SET LOCAL lock_timeout = 0; SELECT pg_advisory_xact_lock(%d); "+
		"SET LOCAL lock_timeout = '5s'; LOCK TABLE users IN ROW EXCLUSIVE MODE; SET CONSTRAINTS ALL IMMEDIATE; "+
		"SET LOCAL enable_seqscan = off; SET LOCAL jit = off", importLock)
	err := p.repeat(working, time.Now().Add(24*time.Hour), func(working context.Context) error {
		return p.transaction(working, begin, func(tx *gorm.DB) error {
			err := run(tx)
			// From here on, the client's end is no reason to break off: that would leave the outcome open.
			if err == nil {
				stay()
				time.AfterFunc(searchTimeout, cancel)
				err = ctx.Err()
			}
			return err
		})
	})
	if isLocked(err) {
		return err // it says for which lock it has waited
	}
	return p.outcome(err, errTooLate)
}

// The numbers of advisory locks are what takes turns, in ASCII.
const (
	createLock int64 = 0x7573657273 // users
	importLock int64 = 0x66696c6573 // files
)

// repeat calls try until it succeeds, or fails for good: again when the connection was lost before anything can have
// been stored, when what was prepared is out of date, and when PostgreSQL ended the transaction because of others. A
// server that accepts no more connections, or is too busy for another, is asked again until the deadline.
func (p *postgresPool) repeat(ctx context.Context, deadline time.Time, try func(context.Context) error) error {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	defer context.AfterFunc(p.ended, cancel)()
	for tries, lost := 1, false; ; tries++ {
		err := try(ctx)
		_, connecting := errors.AsType[*pgconn.ConnectError](err)
		trouble := troubleOf(err)
		again := tries < maxTries && trouble == aborted
		if trouble == gone || trouble == outdated {
			p.pool.Reset() // the other connections lead to the same server, and have the same view of its tables
			again, lost = again || !lost, true
		}
		switch {
		case err == nil, isUnknown(err):
			return err
		case ctx.Err() != nil && trouble.isConnections():
			return ctx.Err()
		case connecting && (sqlState(err) == codeTooMany || pgconn.Timeout(err)): // a trigger may raise that code, too
			_ = sleep(ctx, 20*time.Millisecond)
			tries = 0
		case !again, connecting:
			return err
		}
	}
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
		end := &pgconn.CancelRequestContextWatcherHandler{Conn: server.PgConn(), DeadlineDelay: cancelTimeout}
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
		return confirmed(server, tx.Commit(sent))
	})
}

// begun is a connection on which a transaction has begun. GORM sets a savepoint for one that begins inside it.
type begun struct {
	*sql.Conn
	tx pgx.Tx
}

func (b begun) Commit() error   { return b.tx.Commit(context.Background()) }
func (b begun) Rollback() error { return b.tx.Rollback(context.Background()) }

// confirmed returns the error of a commit, also if no standby has confirmed it.
func confirmed(server *pgx.Conn, err error) error {
	notes := server.PgConn().CustomData()
	if notes[unconfirmed] == true {
		delete(notes, unconfirmed)
		err = errUnconfirmed
	}
	return commitError(err)
}

// postgresDialect is the SQL of PostgreSQL, and its errors.
type postgresDialect struct{ fold string } // see [postgresPool.foldExpression]

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
