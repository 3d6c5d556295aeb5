// Package sqlite stores the users in one SQLite file in WAL mode. It implements [models.Users].
//
// It has two parts:
//
//   - the writer (writer.go, batch.go, transaction.go, writes.go) owns the one connection that writes. Writes that
//     arrive together share a commit, and each returns after its own commit is on disk;
//   - the list cache (package listcache, and source.go) owns a connection that reads. The list is JSON. It is served
//     from memory while no connection of any process has committed, and is patched where this process has written.
//
// They meet in one function, [writer.beginSnapshot]: the cache begins a read transaction between two commits, and
// learns what was written since the last transaction that it began there.
//
// Everything else is read on the other connections (reader.go): a user, a page, a search, or a list that is too large
// for the cache. Each of these connections runs the statements that package statements builds (connection.go).
//
// Below this package, dbfile has the connections themselves, and all that is known about files and locks of SQLite. Above
// it, backup makes and restores backups.
package sqlite

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"

	"users-api/models"
	"users-api/models/follow"
	"users-api/models/listcache"
	"users-api/models/spool"
	"users-api/models/sqlite/dbfile"
)

// Users is the table of users in its database file.
type Users struct {
	fields models.Fields
	writer *writer
	source *listSource
	cache  *listcache.Cache
	reader *reader
	follow *follow.Feed
	closed atomic.Bool
}

var _ models.Users = (*Users)(nil)

// Open opens the database file at path and creates what is missing: the directory, the file, the table. The list is
// cached while it is no larger than listMemory bytes. The context ends the wait for another program's lock. The error
// says what to do.
func Open(ctx context.Context, path string, fields models.Fields, listMemory int) (*Users, error) {
	queries, err := newQueries(fields)
	if err != nil {
		return nil, err
	}
	target, first, err := openDatabase(ctx, path, fields)
	if err != nil {
		return nil, err
	}
	defer first.Close() // the others are open
	files, err := findFiles(path)
	if err != nil {
		return nil, dbfile.Explain(path, fmt.Errorf("cannot look at its files: %w", err))
	}
	spools := spool.NewArea(files.spools(), fields)
	if err := spools.Clear(); err != nil {
		return nil, dbfile.Explain(path, fmt.Errorf("cannot remove what a program that was killed has left behind: %w", err))
	}
	users, err := connectAll(target, queries, files, spools, listMemory)
	return users, dbfile.Explain(path, err)
}

// connectAll opens every connection at startup, so that the service goes on if it runs out of file descriptors later.
func connectAll(path string, queries *queries, files files, spools *spool.Area, listMemory int) (*Users, error) {
	writer, err := startWriter(path, queries, files)
	if err != nil {
		return nil, err
	}
	source, err := newListSource(path, queries, writer)
	if err != nil {
		return nil, err
	}
	reader, err := newReader(path, queries, spools, writer.indexWritten)
	if err != nil {
		return nil, err
	}
	users := &Users{
		fields: queries.fields, writer: writer, source: source, reader: reader,
		cache: listcache.New(source, queries.fields, listMemory),
	}
	users.follow = follow.New(users.Cursor)
	return users, nil
}

// Create stores a user and returns its id. A duplicate email is an error of storage.
func (u *Users) Create(ctx context.Context, user models.NewUser) (id int64, err error) {
	err = u.writer.do(ctx, &write{run: func(tx *transaction) (err error) {
		id, err = tx.insert(user)
		return err
	}})
	return id, storageError(err)
}

// Change changes a user and returns it as stored after the change.
func (u *Users) Change(ctx context.Context, id int64, change models.Values, allow models.Condition) (user models.User, err error) {
	err = u.writer.do(ctx, &write{run: func(tx *transaction) (err error) {
		user, err = tx.update(id, change, allow)
		return err
	}})
	return user, storageError(err)
}

// Delete removes a user.
func (u *Users) Delete(ctx context.Context, id int64, allow models.Condition) error {
	return storageError(u.writer.do(ctx, &write{run: func(tx *transaction) error { return tx.delete(id, allow) }}))
}

// Get returns a user.
func (u *Users) Get(ctx context.Context, id int64) (models.User, error) {
	user, err := u.reader.get(ctx, id)
	return user, storageError(err)
}

// Select returns the users that a query selects.
func (u *Users) Select(ctx context.Context, query models.Query) iter.Seq2[[]models.User, error] {
	return func(yield func([]models.User, error) bool) {
		for page, err := range u.reader.users(ctx, query) {
			if !yield(page, storageError(err)) {
				return
			}
		}
	}
}

// Page returns a page of the cached list, or nil.
func (u *Users) Page(ctx context.Context, query models.Query) (*models.Page, error) {
	page, err := u.cache.Page(ctx, query)
	return page, storageError(err)
}

// Export calls send with the users that a query selects, all as of one moment.
func (u *Users) Export(ctx context.Context, query models.Query, send func(models.Export) error) error {
	return u.reader.export(ctx, query, send)
}

// Count returns how many users match a query.
func (u *Users) Count(ctx context.Context, query models.Query) (int64, error) {
	n, err := u.reader.count(ctx, query)
	return n, storageError(err)
}

// List calls send with the cached list, or with one that is read while it is sent, if it is too large to be cached.
func (u *Users) List(ctx context.Context, send func(models.List) error) error {
	return storageError(u.cache.List(ctx, send, u.Select(ctx, models.Query{})))
}

// Replaced is closed when the database file was found removed or replaced.
func (u *Users) Replaced() <-chan struct{} { return u.writer.replaced }

// Close commits the writes under way, moves everything into the one database file and closes it. It returns ErrReplaced
// if a restart would open another file.
//
// The connections of a lost file are left open: SQLite would delete the -wal file by its name, which may belong to
// another database by now.
func (u *Users) Close(ctx context.Context) error {
	if u.closed.Swap(true) {
		return nil // it is closed already
	}
	u.writer.close(ctx)
	if err := u.writer.checkFiles(); err != nil {
		return err
	}
	u.cache.Close(ctx)
	u.source.conn.Close()
	u.reader.close(ctx)
	return u.writer.closeFiles()
}
