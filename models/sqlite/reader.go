package sqlite

import (
	"context"
	"iter"
	"runtime"

	"golang.org/x/sync/semaphore"

	"users-api/models"
	"users-api/models/spool"
)

// reader reads on its own connections, one request on each at a time.
type reader struct {
	*queries
	free chan *connection
	// searching is held by a query that looks at every user.
	searching *semaphore.Weighted
	spools    *spool.Area
	// indexWritten is called after a search that has found many users who are not indexed yet.
	indexWritten func()
}

// maxSearches returns how many queries can look at every user at once: all cores but one, so that writes and lists can
// run beside them, and all readers but one.
func maxSearches() int64 { return int64(max(1, min(maxReaders, runtime.GOMAXPROCS(0))-1)) }

func newReader(path string, queries *queries, spools *spool.Area, indexWritten func()) (*reader, error) {
	r := &reader{
		queries: queries, free: make(chan *connection, maxReaders), searching: semaphore.NewWeighted(maxSearches()),
		spools: spools, indexWritten: indexWritten,
	}
	for range maxReaders {
		conn, err := queries.connect(path)
		if err != nil {
			return nil, err
		}
		r.free <- conn
	}
	return r, nil
}

// close waits for the requests that read, until the context ends, and closes the connections. Later requests get none.
func (r *reader) close(ctx context.Context) {
	for range maxReaders {
		select {
		case conn := <-r.free:
			conn.Close()
		case <-ctx.Done():
			return
		}
	}
	close(r.free)
}

// on runs read for a query in a transaction on a connection. The context ends the wait for one, and interrupts the
// running statement.
func (r *reader) on(ctx context.Context, query models.Query, read func(*connection) error) error {
	if ctx.Err() != nil {
		return ctx.Err() // select would choose at random
	}
	select {
	case conn, open := <-r.free:
		if !open {
			return models.ErrClosed
		}
		defer func() { r.free <- conn }()
		return r.reading(ctx, conn, query, read)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// reading runs read in its own transaction, on a table that can be served. The context interrupts the statements of
// read, but not the end of the transaction.
func (r *reader) reading(ctx context.Context, conn *connection, query models.Query, read func(*connection) error) error {
	if _, err := conn.Exec(beginRead); err != nil {
		return err
	}
	defer func() { _, _ = conn.Exec(rollBack) }() // it only reads
	if err := conn.recheckTable(query); err != nil {
		return err
	}
	return conn.Until(ctx, func() error { return read(conn) })
}

func (r *reader) search(ctx context.Context, query models.Query, read func(*connection) error) error {
	if err := r.searching.Acquire(ctx, 1); err != nil {
		return err
	}
	defer r.searching.Release(1)
	err := r.on(ctx, query, read)
	if r.unindexed.Swap(false) {
		r.indexWritten()
	}
	return err
}

func (r *reader) get(ctx context.Context, id int64) (user models.User, err error) {
	err = r.on(ctx, models.Query{}, func(conn *connection) (err error) {
		user, err = conn.get(id)
		return err
	})
	return user, err
}

func (r *reader) count(ctx context.Context, query models.Query) (n int64, err error) {
	on := r.search
	if !r.fields.CountIsSearch(query) {
		on = r.on
	}
	err = on(ctx, query, func(conn *connection) (err error) {
		n, err = conn.count(query)
		return err
	})
	return n, err
}

// users returns the users that a query selects. Between two pages nothing is held but a page, however slowly the caller
// takes them.
func (r *reader) users(ctx context.Context, query models.Query) iter.Seq2[[]models.User, error] {
	on := r.on
	if r.fields.IsSearch(query) {
		on = r.search
	}
	return pages(query, func(read func(*connection) error) error { return on(ctx, query, read) })
}
