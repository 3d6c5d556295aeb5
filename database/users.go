// Package database is the storage of users: GORM on one SQLite file, or on PostgreSQL. It knows nothing of HTTP.
//
// A creation is one statement of GORM (write.go), in a transaction of the pool: sqlite.go or postgres.go. Its answer
// follows when that is on disk. On SQLite, writes that wait share a transaction (package groupcommit).
//
// The list of all users comes from memory (list.go) after one question to the pool: was anything committed since? Other
// reads are in read.go. What the databases do in different ways is behind [pool] and [dialect], in the files that begin
// with their names.
package database

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"users-api/models"
)

// Location says where the users are, and which fields they have.
type Location struct {
	URL    string // of a PostgreSQL database; if it is empty, the users are in a file
	Path   string // of the SQLite file
	Fields models.Fields
	Logger *slog.Logger
}

// String is for the log: the path of the file, or the hosts, ports and name of the database, never its user and
// password.
func (d Location) String() string {
	if d.URL == "" {
		return d.Path
	}
	address, _, err := parseURL(d.URL)
	if err != nil {
		return "PostgreSQL"
	}
	return "postgres://" + strings.Join(address.hosts, ",") + "/" + address.database
}

// Users is the table of users in its database. Many goroutines may call its methods at once. A method that writes
// returns nil only after the commit of its write is on disk. A method that reads sees every commit, of any process,
// that was complete when it was called. An error is [models.ErrNotFound], the error of a [models.Precondition], the
// context's, or a [*models.StorageError]. The context ends the wait of a write until its commit begins.
type Users struct {
	storage
	closed   atomic.Bool
	writes   *semaphore.Weighted // held in part by a write under way, and as a whole by the close
	list     listCache
	follow   follower
	searches *semaphore.Weighted // held by a query that looks at every user
	imports  *semaphore.Weighted // held by an import: many that wait would take the connections of all other requests
	ended    context.Context     // ends all waiting
	endAll   context.CancelFunc
}

// storage is an open database of either kind.
type storage struct {
	reader
	pool    pool
	dialect dialect
	traits  traits
	catalog *catalog
	commits *commits
	// Temp is for imports, exports and long lists.
	Temp *TempFiles
	// replaced is closed once the database file was found removed or replaced; nil on a server.
	replaced <-chan struct{}
}

// pool is the connections to a database. It begins and ends transactions, and knows what was committed.
type pool interface {
	// state returns what changes with every commit of any program, or "" if the database cannot tell. Only one
	// goroutine at a time calls it.
	state(ctx context.Context) (string, error)
	// read calls run, perhaps again, with a connection for a few statements that look at few users and need not see one
	// moment.
	read(ctx context.Context, run func(db *gorm.DB) error) error
	// snapshot calls run in a transaction that sees one moment, and may look at every user.
	snapshot(ctx context.Context, run func(tx *gorm.DB) error) error
	// write calls run in a transaction, perhaps again, and commits it. With an error nothing was stored, unless it says
	// that this is not known. It gives up after about 5 s, without the time of imports. The end of the context ends only
	// the wait for the transaction to begin.
	write(ctx context.Context, way way, run func(tx *gorm.DB) error) error
	// importing is like write, for an import, without its time limit.
	importing(ctx context.Context, run func(tx *gorm.DB) error) error
	// measure adds the sizes of the database, and of the feed if there is one, to the metrics. What fails is missing.
	measure(ctx context.Context, stats *Stats)
	close(ctx context.Context) error
}

// dialect is what SQLite and PostgreSQL say in different ways. It knows nothing of connections.
type dialect interface {
	// describe returns what the table is now, or why it cannot be served with these fields.
	describe(db *gorm.DB, fields models.Fields) (table, error)
	// classify returns an error of GORM as a client sees it, and whether the database refuses what a statement asked
	// for: then that has stored nothing, and other statements may succeed. It is a refusal unless the connection, the
	// disk or another transaction is to blame. Errors that are not the database's stay as they are: what has been
	// classified once is no refusal any more.
	classify(err error) (shown error, isRefusal bool)
	// containsWords returns the condition that each of some folded words is in one of the columns, which are expressions.
	containsWords(columns, words []string) clause.Expression
	// seek lets a query that requires this of the columns with some names use the index of searches.
	seek(db *gorm.DB, names, words []string) *gorm.DB
	// cursor returns where the feed of changes ends, as a connection or transaction sees it, or "" if changes are not
	// recorded.
	cursor(tx *gorm.DB) (string, error)
	// changes returns the entries after a cursor, without their users. The error is as for [Users.Changes].
	changes(tx *gorm.DB, after string, limit int) (models.Changes, error)
	// prune deletes entries that are older than a time, at most [PruneStep], and returns how many it has deleted.
	prune(tx *gorm.DB, before time.Time) (int64, error)
}

// part is a condition for users, and what they are then sorted by. In both, %[1]s is the sortKey, %[2]s is < or >, and
// %[3]s is empty or DESC.
type part struct{ condition, order string }

// traits are what differs between the databases and is no more than a value: expressions of SQL, and what they can hold.
type traits struct {
	foldedEmail   string // the expression that the index on emails without their case has
	lower         string // a text with its ASCII letters in lower case, with %s for it
	exactly       string // follows a column that is compared without regard to its collation
	shownTime     string // a time as it is shown, with %s for the stored text
	bytes         string // the bytes of a text, with %s for it
	contains      string // the condition that they contain others, with %s for them
	fold          string // a text as [models.Fold] returns it, with %[1]s for it
	sortKey       string // that by which users are sorted, with %s for a folded text
	beyond        []part // one after the other, the users who come behind a place
	storesAnyText bool   // also a NUL, and what is no UTF-8
	storesBlobs   bool   // in columns for text
	maxParameters int    // how many values a statement has
	searchers     int    // how many searches can run at once
}

// Open opens the database and creates what is missing: the directory, the file, the table. The list is cached in up to
// listMemory bytes. The context ends the wait for a lock, or for a server that starts. The error says what to do.
func (d Location) Open(ctx context.Context, listMemory int) (*Users, error) {
	u := &Users{list: listCache{maxBytes: listMemory}}
	u.ended, u.endAll = context.WithCancel(context.WithoutCancel(ctx))
	open := openSQLite
	if d.URL != "" {
		open = openPostgres
	}
	var err error
	if u.storage, err = open(ctx, d, u.ended); err != nil {
		u.endAll()
		return nil, err
	}
	searchers := min(u.traits.searchers, max(1, runtime.GOMAXPROCS(0)-1)) // one core is left for writes and lists
	u.searches = semaphore.NewWeighted(int64(searchers))
	u.imports, u.follow.turn = semaphore.NewWeighted(1), semaphore.NewWeighted(1)
	u.writes = semaphore.NewWeighted(allWrites)
	return u, nil
}

// openGORM returns GORM on a connection pool of its own, with the columns that settings add.
func openGORM(dialector gorm.Dialector, fields models.Fields) (*gorm.DB, error) {
	db, err := gorm.Open(dialector, &gorm.Config{
		SkipDefaultTransaction: true,
		Logger:                 logger.Discard, // GORM's own prints names and emails with the SQL that fails
		DisableAutomaticPing:   true,
	})
	if err != nil {
		return nil, err
	}
	return db, addColumns(db, fields)
}

// addColumns makes GORM see each field that a setting adds as a column of [models.User] that may be NULL.
func addColumns(db *gorm.DB, fields models.Fields) error {
	users, texts := &gorm.Statement{DB: db}, &gorm.Statement{DB: db}
	type nullable struct{ Text *string }
	if err := errors.Join(users.Parse(&models.User{}), texts.Parse(&nullable{})); err != nil {
		return err
	}
	user := func(row reflect.Value) *models.Profile {
		return &reflect.Indirect(row).Addr().Interface().(*models.User).Profile
	}
	for _, field := range fields {
		if !field.Added {
			continue
		}
		column := new(*texts.Schema.Fields[0])
		column.Name, column.DBName, column.Schema = field.Name, field.Name, users.Schema
		if field.Time { // in a table that is created
			column.DataType = users.Schema.LookUpField("created_at").DataType
		}
		column.ValueOf = func(_ context.Context, row reflect.Value) (any, bool) {
			value := field.Value(user(row))
			return value, value == nil
		}
		column.Set = func(_ context.Context, row reflect.Value, value any) error {
			text, _ := value.(*string)
			if scanned, ok := value.(**string); ok {
				text = *scanned
			}
			if field.SetNull(user(row)); text != nil {
				field.Set(user(row), *text)
			}
			return nil
		}
		users.Schema.Fields = append(users.Schema.Fields, column)
		users.Schema.DBNames = append(users.Schema.DBNames, column.DBName)
		users.Schema.FieldsByName[column.Name], users.Schema.FieldsByDBName[column.DBName] = column, column
	}
	return nil
}

// Replaced is closed when the database file was removed or replaced: then every write fails, and only a restart helps.
func (u *Users) Replaced() <-chan struct{} { return u.replaced }

// allWrites is more than there can be at once.
const allWrites = 1 << 30

// Close finishes the writes under way and closes the database. The context ends their wait for another program's lock,
// and for a server. Later calls fail with [models.ErrClosed]. Close returns [models.ErrReplaced] if the database file
// was removed or replaced.
func (u *Users) Close(ctx context.Context) error {
	defer u.endAll()
	defer context.AfterFunc(ctx, u.endAll)()
	if u.closed.Swap(true) {
		return nil
	}
	// A server that does not answer does not confirm the end of a write either.
	late, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(time.Second/2, giveUp) })()
	_ = u.writes.Acquire(late, allWrites)
	u.list.asking.Lock() // nothing is asked any more
	defer u.list.asking.Unlock()
	return u.pool.close(ctx)
}

// storageError returns an error of a statement as a client sees it.
func (u *Users) storageError(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case u.closed.Load() && !isUnknown(err):
		return models.ErrClosed
	case ctx.Err() != nil && !isUnknown(err):
		return ctx.Err() // the client is gone
	}
	shown, _ := u.dialect.classify(err)
	return shown
}

// isUnknown reports whether the database may have stored a write in spite of its error.
func isUnknown(err error) bool {
	failed, ok := errors.AsType[*models.StorageError](err)
	return ok && failed.Unknown
}
