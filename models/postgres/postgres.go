// Package postgres stores the users in a PostgreSQL database, version 13 or newer. It implements [models.Users].
//
// PostgreSQL is a server that other processes use at the same time, so this package holds little by itself:
//
//   - the connections (address.go, connect.go, database.go) are a small pool. Every statement borrows one, has a
//     deadline, and finds the server again after it was away;
//   - the shared commits (package batch, and writer.go) are for creations alone. Creations that arrive together are one
//     INSERT. For changes and deletions (change.go), PostgreSQL itself lets transactions share a flush of its log;
//   - every read (queries.go, rows.go, pages.go, reader.go) is one statement for each page, and nothing is held between
//     two pages;
//   - the cached list (package listcache, and list.go) is valid for as long as the server's snapshot is the same;
//   - the feed of changes (feed.go, feed_cursor.go, feed_table.go, feed_sql.go);
//   - imports (package imports, and import.go), exports of one moment (snapshot.go), and a table that is filled from
//     another storage (copyfrom.go, copy.go, refused.go);
//   - the commands that change the table beside running services: a new column (schema.go), and the index that ignores the
//     case of emails (email_case.go).
//
// GORM defines the table and compiles the statements (package statements), sql.go and catalog.go hold what GORM cannot
// express, and pgx runs both. Nothing is stored in a session, because behind a pooler the next statement may run in another
// one: no setting and no advisory lock that outlives its transaction, no temporary table, no LISTEN.
//
// # Why the cached list is never stale
//
// The server's snapshot names the transactions that are visible. A commit takes its number out of those under way, or
// moves their end. The numbers have 64 bits and do not wrap, a prepared transaction stays under way, and TRUNCATE and
// every DDL statement take a number as well. So on one incarnation of one primary, an equal snapshot means an equal
// table.
//
// After a crash, and on a standby that was promoted, numbers are used again, and behind a pooler a change of the server
// goes unnoticed. So the server's start time and its last checkpoint are read too: a crash ends with a checkpoint, and
// another server has another start time. The list is read in a REPEATABLE READ transaction, whose snapshot is the one
// that was recorded; it locks the table against TRUNCATE before it takes the snapshot. Any commit in the cluster,
// ANALYZE and a checkpoint cost one more read of the list, and nothing else.
//
// With the feed of changes (feed_table.go), only what it names is read again, whatever program wrote: an entry is
// committed together with what it tells of, so the entries that one snapshot sees and an earlier one does not name all that
// was written between the two. No trigger records a change of the columns or of the triggers themselves. It changes the
// definition of the feed, and then the whole list is read again.
//
// This does not hold on a standby, under row security, and for data outside this server's log: cacheable detects these
// cases, and then the list is streamed.
package postgres

import (
	"context"
	"log/slog"
	"sync"

	"users-api/models"
	"users-api/models/follow"
	"users-api/models/listcache"
)

// Users is the table of users in a PostgreSQL database.
type Users struct {
	*reader
	table  table
	writer *writer
	cache  *listcache.Cache
	follow *follow.Feed

	// writing is held for reading by every write, and for writing by Close.
	writing sync.RWMutex
}

var _ models.Users = (*Users)(nil)

// Open connects to the database that a URL names, and creates the table users if there is none. It tries a server that
// cannot be reached yet for half a minute; the context ends that. The list is cached while it is no larger than
// listMemory bytes. The error says what to do, and holds no password.
func Open(ctx context.Context, url string, fields models.Fields, listMemory int, logger *slog.Logger) (*Users, error) {
	return OpenWithStandbys(ctx, url, "", fields, listMemory, logger)
}

// OpenWithStandbys is Open with standbys, which a second URL names, for reads of many users.
func OpenWithStandbys(ctx context.Context, url, standbys string, fields models.Fields, listMemory int,
	logger *slog.Logger) (*Users, error) {
	where, err := parseAddress(url)
	if err != nil {
		return nil, err
	}
	hosts, err := parseStandbys(standbys)
	if err != nil {
		return nil, err
	}
	database, err := connect(ctx, where, fields, logger)
	if err != nil {
		return nil, err
	}
	users, err := open(ctx, database, listMemory, logger)
	if err != nil {
		database.close(ctx)
		return nil, explain(where, err)
	}
	if len(hosts) > 0 {
		if users.standbys, err = openStandbys(ctx, hosts, database, logger); err != nil {
			database.close(ctx)
			return nil, err
		}
	}
	return users, nil
}

func open(ctx context.Context, database *database, listMemory int, logger *slog.Logger) (*Users, error) {
	if err := database.expectServer(ctx); err != nil {
		return nil, err
	}
	if err := database.createTable(ctx); err != nil {
		return nil, err
	}
	if err := database.warn(ctx, logger); err != nil {
		return nil, err
	}
	table, err := database.describe(ctx)
	if err != nil {
		return nil, err
	}
	queries, err := newQueries(table, database.fields)
	if err != nil {
		return nil, err
	}
	reader := newReader(database, queries)
	users := &Users{
		reader: reader,
		table:  table,
		writer: startWriters(database, queries),
		cache:  listcache.New(&listSource{reader: reader}, database.fields, listMemory),
	}
	users.follow = follow.New(users.Cursor)
	return users, nil
}

// beginWrite returns an error if the storage is closed. Otherwise Close waits until the caller unlocks writing.
func (u *Users) beginWrite() error {
	if u.database.closed.Load() {
		return models.ErrClosed // at once: Close may hold the lock until the writes under way are finished
	}
	u.writing.RLock()
	if u.database.closed.Load() {
		u.writing.RUnlock()
		return models.ErrClosed
	}
	return nil
}

// Create stores a user and returns its id. A duplicate email is an error of storage.
func (u *Users) Create(ctx context.Context, user models.NewUser) (id int64, err error) {
	if err := u.beginWrite(); err != nil {
		return 0, err
	}
	defer u.writing.RUnlock()
	return u.writer.create(ctx, user)
}

// Replaced is never closed: a server that goes away may come back.
func (u *Users) Replaced() <-chan struct{} { return nil }

// Close finishes the writes under way and closes the connections. When the context ends, what is still running is
// cancelled, and nothing is waited for: a server that does not respond does not confirm a close either.
func (u *Users) Close(ctx context.Context) error {
	if u.database.closed.Swap(true) {
		return nil // it is closed already
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		u.finishWrites()
		u.database.close(ctx)
		u.standbys.close(ctx)
		u.cache.Close(ctx)
	}()
	select {
	case <-closed:
	case <-ctx.Done():
		u.database.end()
	}
	return nil
}

// finishWrites waits for the writes under way. Writes that wait for the lock then find the storage closed.
func (u *Users) finishWrites() {
	u.writing.Lock()
	defer u.writing.Unlock()
	u.writer.close()
}
