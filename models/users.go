// Package models keeps the users: the record, its table, and what makes storing it durable and listing it fast. It
// knows nothing of HTTP.
//
// The file is one SQLite database in WAL mode. A pool of connections is opened with it and pinned by role:
//
//   - one writes (commits.go): creations and deletions that arrive together share a commit, and each is answered
//     after its own commit is on disk;
//   - one keeps the list (list.go): a JSON text that is served from memory for as long as no connection of any
//     process has committed;
//   - the others read pages (stream.go) of a list that is too large to be kept.
//
// Everything that is particular to SQLite, its pragmas, expressions and error codes, stays in this package.
package models

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"

	"gorm.io/gorm"
)

// The two statements that write are written out: SQLite takes 12 µs for an INSERT, and GORM takes longer than that to
// build one. Their names are those of [User], which a test compares. The time is named because a table that another
// program made may have no default for it.
const (
	insertUser = "INSERT INTO users (name, email, created_at) VALUES (?, ?, CURRENT_TIMESTAMP)"
	deleteUser = "DELETE FROM users WHERE id = ?"
)

// Users is the table of users in its database file. Its methods may be called by many goroutines at once.
type Users struct {
	db        *gorm.DB
	committer *committer
	keeper    *keeper
	closed    atomic.Bool
}

// Open opens the database file at path and makes what is missing: the directory, the file, the table. The list is
// kept in memory while it is no larger than listMemory bytes. The error says what to do.
func Open(path string, listMemory int) (*Users, error) {
	db, err := openDatabase(path)
	if err != nil {
		return nil, err
	}
	writer, err := pin(db)
	if err != nil {
		return nil, err
	}
	lister, err := pin(db)
	if err != nil {
		return nil, err
	}
	opened, err := openFiles(path)
	if err != nil {
		return nil, fmt.Errorf("cannot look at the database files: %w", err)
	}
	committer := startCommitter(writer, opened)
	return &Users{db: db, committer: committer, keeper: newKeeper(db, lister, committer, listMemory)}, nil
}

// pin takes a connection out of the pool for good.
func pin(db *gorm.DB) (*sql.Conn, error) {
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	return pool.Conn(context.Background())
}

// Create stores a user and returns its id once it is on disk. The error is storage's own (a duplicate email is one),
// the context's when it ended before the user had its place in the queue, ErrClosed or ErrLost.
func (u *Users) Create(ctx context.Context, user NewUser) (id int64, err error) {
	done, err := u.committer.write(ctx, insertUser, user.Name, user.Email)
	if err != nil {
		return 0, err
	}
	if done.rows == 0 {
		return 0, ErrNotStored
	}
	return done.id, nil
}

// Delete removes the user with the given id and returns once that is on disk. The errors are those of Create, and
// ErrNotFound.
func (u *Users) Delete(ctx context.Context, id int64) error {
	done, err := u.committer.write(ctx, deleteUser, id)
	if err != nil {
		return err
	}
	if done.rows == 0 {
		return ErrNotFound
	}
	return nil
}

// List returns all users, with every commit that was complete when it was called, or nil when the list is too large
// to be kept: then Stream has it. The caller releases the list.
func (u *Users) List(ctx context.Context) (*List, error) { return u.keeper.get(ctx) }

// Lost is closed when the database file was found removed or replaced. From then on every write fails with ErrLost,
// and only another start helps.
func (u *Users) Lost() <-chan struct{} { return u.committer.lost }

// Close commits what is under way, moves everything into the one database file and closes it.
//
// A lost file is left as it is: SQLite would delete the -wal file by its name, which is another's by now.
func (u *Users) Close() error {
	if u.closed.Swap(true) {
		return nil // it is closed already
	}
	u.committer.close()
	select {
	case <-u.committer.lost:
		return nil
	default:
	}
	pool, err := u.db.DB()
	return errors.Join(err, u.keeper.close(), u.committer.conn.Close(), pool.Close())
}
