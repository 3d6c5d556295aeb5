package postgres

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/semaphore"

	"users-api/models"
)

// answerTime is how long a statement that looks at few users may take, including its wait for a connection, and
// cancelTime is how long the server then has to confirm that it has ended the statement: a client learns within 5 s
// that the server does not respond.
const (
	answerTime = 4200 * time.Millisecond
	cancelTime = 500 * time.Millisecond
)

// searchTime is how long a statement that looks at every user may take.
const searchTime = 2 * time.Minute

// use says what a connection is needed for.
type use struct {
	limit time.Duration
	// writes: the context ends only the wait for the connection, and an unknown outcome is reported as such. A read is
	// tried again on another connection if the first is lost.
	writes bool
	// once: what was read is used as it arrives, so it cannot be read again.
	once bool
	// brief: it reads for a moment, so it may use the connection that longer uses leave free.
	brief bool
	// searches: it looks at every user.
	searches bool
	// standby: a standby may answer it.
	standby bool
	// after is what a standby must have replayed first; nil on the primary.
	after *catchUp
}

var (
	lookup     = use{limit: answerTime, brief: true}
	paging     = use{limit: answerTime, brief: true, standby: true}
	listing    = use{limit: searchTime, brief: true, standby: true} // every user, into memory
	search     = use{limit: searchTime, searches: true, standby: true}
	export     = use{limit: searchTime, searches: true, standby: true, once: true}
	write      = use{limit: answerTime, writes: true}
	bestEffort = use{limit: time.Second / 2, brief: true} // for what can be left out
)

type database struct {
	where   address
	fields  models.Fields
	pool    *pgxpool.Pool
	commits models.Commits
	// free is taken by anything that needs a connection, except the writers: they have theirs, however many wait here.
	free *semaphore.Weighted
	// slow is one smaller than free, and is taken before it by uses that may hold their connection for long: an import,
	// a search, or a change that waits for a lock. So one connection is left for brief reads.
	slow *semaphore.Weighted
	// changing is taken by changes and deletions: when they wait for another program's lock, half of the connections
	// are left for reads.
	changing *semaphore.Weighted
	// importing is taken by an import: many that wait would take the connections of all other requests.
	importing *semaphore.Weighted
	// searching is taken by queries that look at every user. They get at most all cores but one, and a third of the
	// connections, so that everything else can run beside them.
	searching *semaphore.Weighted
	closed    atomic.Bool
	checked   atomic.Pointer[tableCheck] // the last check of the table
	// onEmail remembers which constraints are on the email alone.
	onEmail sync.Map
	// ended ends when even the work under way must stop.
	ended context.Context
	end   context.CancelFunc
}

// on runs a statement or a transaction on a connection, and runs it again if it has certainly done nothing: see again.
// The error is as the contract defines it.
func (d *database) on(ctx context.Context, wanted use, run func(context.Context, connection) error) error {
	return d.until(ctx, time.Now().Add(wanted.limit), wanted, run)
}

func (d *database) until(ctx context.Context, deadline time.Time, wanted use, run func(context.Context, connection) error) error {
	limited, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	defer context.AfterFunc(d.ended, cancel)()
	for _, slots := range d.slots(wanted) {
		if slots.Acquire(limited, 1) != nil {
			return d.gaveUp(ctx)
		}
		defer slots.Release(1)
	}
	return d.borrow(ctx, limited, wanted, run)
}

// slots returns the semaphores that a use of a connection takes, in order. A search has its own before: see [reader].
func (d *database) slots(wanted use) []*semaphore.Weighted {
	switch {
	case wanted.brief:
		return []*semaphore.Weighted{d.free}
	case wanted == write:
		return []*semaphore.Weighted{d.changing, d.slow, d.free}
	case wanted == bulk:
		return []*semaphore.Weighted{d.importing, d.slow, d.free}
	}
	return []*semaphore.Weighted{d.slow, d.free}
}

// gaveUp returns why the wait for a semaphore has ended.
func (d *database) gaveUp(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case d.ended.Err() != nil:
		return models.ErrClosed
	}
	return errBusy
}

// borrow is on for a caller that holds its slots already. The second context is the first with its limit.
func (d *database) borrow(ctx, limited context.Context, wanted use, run func(context.Context, connection) error) error {
	err := d.try(limited, wanted, run)
	for tries := 1; err != nil && again(err, wanted, tries) && limited.Err() == nil; tries++ {
		err = d.try(limited, wanted, run)
	}
	if isDuplicate(err) {
		return d.duplicate(limited, err)
	}
	return d.failed(ctx, wanted, err)
}

// try takes a connection and runs a statement or a transaction on it once.
func (d *database) try(ctx context.Context, wanted use, run func(context.Context, connection) error) error {
	if d.closed.Load() && !wanted.writes {
		return models.ErrClosed // a write that has begun is finished
	}
	conn, err := d.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	ctx, cancel := d.bounded(ctx, wanted)
	defer cancel()
	on := connection{Conn: conn.Conn(), fields: d.fields, after: wanted.after}
	table, err := d.checkTable(ctx, on)
	if on.emails, on.recording, on.indexed = table.emails, table.recording, table.indexed; err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = run(ctx, on)
	}
	if isGone(err) || isOutOfDate(err) {
		d.pool.Reset() // the other connections lead to the same server, and have the same view of its tables
	}
	if ctx.Err() != nil {
		_ = conn.Conn().Close(ctx) // the request to cancel the statement may arrive after its end
	}
	switch {
	case isUnknown(err), wanted.limit > searchTime: // an import says which lock it has waited for
	case wanted.writes && (isLockTimeout(err) || ctx.Err() != nil && sqlState(err) == codeCancelled):
		return errTooLate
	case isLockTimeout(err):
		return errSlow
	}
	return ignored(err)
}

// bounded returns the context of a statement, which ends when even the work under way must stop. The context of a write
// ends with its time limit, but not because its client has gone.
func (d *database) bounded(ctx context.Context, wanted use) (context.Context, context.CancelFunc) {
	deadline, _ := ctx.Deadline()
	if wanted.writes {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	release := context.AfterFunc(d.ended, cancel)
	return ctx, func() { release(); cancel() }
}

// errTooLate: a write took too long, for example because another program holds a lock, and was ended before its commit
// began.
var errTooLate = &models.StorageError{
	Text: "the PostgreSQL server did not do it in time, and nothing was changed", Code: codeCancelled, Meaning: "too late",
}

// acquire takes a connection from the pool. If the server accepts no more connections, acquire waits for one of those
// that this process already has.
func (d *database) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	for {
		conn, err := d.pool.Acquire(ctx)
		if err == nil || sqlState(err) != codeTooMany {
			return conn, unreached(err)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, unreached(err)
		}
	}
}

func (d *database) failed(ctx context.Context, wanted use, err error) error {
	_, connecting := errors.AsType[connectError](err)
	unsent := connecting || !wanted.writes
	switch {
	case err == nil:
		return nil
	case isUnknown(err):
		return storageError(err)
	case connecting && d.closed.Load(), unsent && d.ended.Err() != nil:
		return models.ErrClosed
	case unsent && ctx.Err() != nil && isBrokenOff(err):
		return ctx.Err()
	}
	return storageError(err)
}

// close closes the connections. When the context ends, what is still running is cancelled, and nothing is waited for: a
// server that does not respond does not confirm a close either.
func (d *database) close(ctx context.Context) {
	defer d.end()
	d.closed.Store(true)
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		d.pool.Close() // waits for those that are in use
	}()
	select {
	case <-closed:
	case <-ctx.Done():
	}
}
