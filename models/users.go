// Package models is the user and the storage of users: GORM on one SQLite file, or on PostgreSQL. It knows nothing of HTTP.
//
// A creation goes from [Users.Create] into a queue (queue.go). The one that gets the turn commits all writes that wait (write.go),
// through one of two engines: sqlite.go or postgres.go. Their answers follow when that is on disk.
//
// A list comes from memory (list.go, and package listcache) after one question to the engine: was anything committed since?
// Other reads are in read.go. What only one of the databases has is in the files that begin with its name.
package models

import (
	"context"
	"errors"
	"hash/maphash"
	"log/slog"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"users-api/models/listcache"
)

// Database says where the users are, and which fields they have.
type Database struct {
	URL    string // of a PostgreSQL database; if it is empty, the users are in a file
	Path   string // of the SQLite file
	Fields Fields
	Logger *slog.Logger
}

// String is for the log: the path of the file, or the hosts, ports and name of the database, never its user and password.
func (d Database) String() string {
	if d.URL == "" {
		return d.Path
	}
	var p postgresServer
	if _, err := p.parse(d.URL); err != nil {
		return "PostgreSQL"
	}
	return "postgres://" + strings.Join(p.hosts, ",") + "/" + p.database
}

// Users is the table of users in its database. Many goroutines may call its methods at once.
// A method that writes returns nil only after the commit of its write is on disk. A method that reads sees every commit, of any
// process, that was complete when it was called. An error is [ErrNotFound], the error of a [Condition], the context's, or a
// [*StorageError]. The context ends the wait of a write until its commit begins.
type Users struct {
	Temp *TempFiles // for imports and exports

	fields        Fields
	columns       []string // of a user, as every statement reads them
	folded        string   // the expression that the index on emails without their case has
	engine        engine
	queue         *queue
	cache         *listcache.Cache
	writers       int                // how many batches can be committed at once
	maxBatch      int                // how many writes share a commit: they bound how long the first waits for the last
	apart         bool               // changes share no transaction
	searchers     int                // how many searches can run at once
	maxParameters int                // how many values a statement has
	ended         context.Context    // ends all waiting
	endAll        context.CancelFunc // ends it
	replaced      chan struct{}      // closed once the database file was found removed or replaced
	commits       commits
	follow        follower
	searches      *semaphore.Weighted   // held by a query that looks at every user
	imports       *semaphore.Weighted   // held by an import: many that wait would take the connections of all other requests
	seed          maphash.Seed          // of the keys in the list
	known         atomic.Pointer[table] // as it was when it was last described
	describing    sync.Mutex            // held while it is described again
}

// engine is what SQLite and PostgreSQL do in different ways.
type engine interface {
	listcache.Source

	// read calls run, perhaps again, with a connection for a few statements that look at few users and need not see one moment.
	read(ctx context.Context, run func(db *gorm.DB) error) error
	// snapshot calls run in a transaction that sees one moment, and may look at every user.
	snapshot(ctx context.Context, run func(tx *gorm.DB) error) error
	// write calls run in a transaction, perhaps again, and commits it. With an error nothing was stored, unless it says that
	// this is not known. It gives up about 5 s after since, without the time of imports. If another program holds what run
	// needs, it waits with untilFree, and otherwise returns errLocked.
	write(since time.Time, how writing, run func(tx *gorm.DB) error) error
	// importing is like write, for an import, without its time limit. changeSchema is for a command.
	importing(ctx context.Context, run func(tx *gorm.DB) error) error
	noteWrite(id int64) // notes that the transaction under way has changed a user
	changeSchema(ctx context.Context, change func(tx *gorm.DB) error) error

	refuses(err error) bool                // the database refuses what a statement asked for
	hasTriggers(tx *gorm.DB) (bool, error) // triggers of other programs may change, ignore or undo what is written
	translate(err error) error             // an error of GORM as a client sees it; others stay as they are
	describe(db *gorm.DB) (table, error)   // what the table is now, or why it cannot be served

	storable(text string) bool // the database can hold a text
	// contains adds the condition that one of the columns contains a text, whatever the case of its ASCII letters.
	contains(db *gorm.DB, columns []string, text string, indexed bool) *gorm.DB

	// cursor returns where the feed of changes ends, as a connection or transaction sees it, or "" if changes are not recorded.
	cursor(tx *gorm.DB) (string, error)
	// changes returns the entries after a cursor, without their users. The error is as for [Users.Changes].
	changes(tx *gorm.DB, after string, limit int) (Changes, error)
	// prune deletes entries that are older than a time, at most [PruneStep], and returns how many it has deleted.
	prune(tx *gorm.DB, before time.Time) (int64, error)
	// measure adds the sizes of the database, and of the feed if there is one, to the metrics. What fails is missing.
	measure(db *gorm.DB, stats *Stats)

	createFeed(tx *gorm.DB) error
	dropFeed(tx *gorm.DB) error
	ignoreEmailCase(ctx context.Context) error
	indexSearch(ctx context.Context, columns []string) error
	dropSearchIndex(tx *gorm.DB) error

	close(ctx context.Context) error // closes the connections
}

// table is what must be known about the table users, which another program may have created. Each column in unique has a unique
// index of its own.
type table struct {
	columns     []string
	unique      []string
	uniqueEmail bool // a unique index is on the email alone
	ignoresCase bool // and on the email without the case of ASCII letters
	triggers    bool // there are triggers of other programs; on PostgreSQL alone
	feed        bool // changes are recorded
	indexed     bool // searches have an index
	at          time.Time
}

// Open opens the database and creates what is missing: the directory, the file, the table. The list is cached in up to
// listMemory bytes. The context ends the wait for a lock, or for a server that starts. The error says what to do.
func (d Database) Open(ctx context.Context, listMemory int) (*Users, error) {
	u := &Users{fields: d.Fields, columns: d.Fields.selected(), seed: maphash.MakeSeed(), replaced: make(chan struct{})}
	u.ended, u.endAll = context.WithCancel(context.WithoutCancel(ctx))
	var err error
	if d.URL != "" {
		u.engine, err = openPostgres(ctx, d, u)
	} else {
		u.engine, err = openSQLite(ctx, d, u)
	}
	if err != nil {
		return nil, err
	}
	u.searchers = min(u.searchers, max(1, runtime.GOMAXPROCS(0)-1)) // one core is left for writes and lists
	u.searches = semaphore.NewWeighted(int64(u.searchers))
	u.imports, u.follow.turn = semaphore.NewWeighted(1), semaphore.NewWeighted(1)
	u.cache = listcache.New(u.engine, listMemory)
	u.queue = &queue{turn: make(chan struct{}, u.writers)}
	return u, nil
}

// openGORM returns GORM on a connection pool of its own, with the columns that settings add.
func openGORM(dialector gorm.Dialector, fields Fields) (*gorm.DB, error) {
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

// addColumns makes GORM see each field that a setting adds as a column of [User]: a text that may be NULL.
func addColumns(db *gorm.DB, fields Fields) error {
	users, texts := &gorm.Statement{DB: db}, &gorm.Statement{DB: db}
	type nullable struct{ Text *string }
	if err := errors.Join(users.Parse(&User{}), texts.Parse(&nullable{})); err != nil {
		return err
	}
	user := func(row reflect.Value) *NewUser { return &reflect.Indirect(row).Addr().Interface().(*User).NewUser }
	for _, field := range fields {
		if !field.Added {
			continue
		}
		column := new(*texts.Schema.Fields[0])
		column.Name, column.DBName, column.Schema = field.Name, field.Name, users.Schema
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

const checkEvery = time.Second

func (t *table) isFresh() bool { return t != nil && time.Since(t.at) < checkEvery }

// described returns what the table is, as of the last two seconds: another program may change it at any time.
func (u *Users) described(db *gorm.DB) (table, error) {
	known := u.known.Load()
	if known.isFresh() {
		return *known, nil
	}
	if u.describing.TryLock() {
		defer u.describing.Unlock()
	} else if known != nil && time.Since(known.at) < 2*checkEvery {
		return *known, nil // another request asks: it takes some milliseconds on PostgreSQL
	}
	began := time.Now()
	described, err := u.engine.describe(db)
	if described.at = began; err == nil {
		u.known.Store(&described)
	} else {
		u.known.Store(nil)
	}
	return described, err
}

// tableNow is described for a caller that needs no connection otherwise.
func (u *Users) tableNow(ctx context.Context) (t table, err error) {
	if known := u.known.Load(); known.isFresh() {
		return *known, nil
	}
	err = u.read(ctx, false, func(db *gorm.DB) (err error) {
		t, err = u.described(db)
		return err
	})
	return t, err
}

// Uniqueness returns the names of the fields of which no two users have the same value, and whether emails that differ only in
// the case of ASCII letters are the same.
func (u *Users) Uniqueness(ctx context.Context) (unique []string, ignoresCase bool, err error) {
	t, err := u.tableNow(ctx)
	return t.unique, t.ignoresCase, u.storageError(ctx, err)
}

// createTable creates the table users unless that name exists. AutoMigrate would change an existing table on any difference.
func createTable(tx *gorm.DB, exists string) error {
	var n int64
	if err := tx.Raw(exists).Scan(&n).Error; err != nil || n > 0 {
		return err
	}
	return tx.Migrator().CreateTable(&User{})
}

// Replaced is closed when the database file was removed or replaced: then every write fails, and only a restart helps.
func (u *Users) Replaced() <-chan struct{} { return u.replaced }

// Close finishes the writes under way and closes the database. The context ends their wait for another program's lock, and for a
// server. Later calls fail with [ErrClosed]. Close returns [ErrReplaced] if the database file was removed or replaced.
func (u *Users) Close(ctx context.Context) error {
	defer context.AfterFunc(ctx, u.endAll)()
	if !u.queue.close(ctx) {
		return nil // it is closed already
	}
	u.cache.Close(ctx)
	return u.engine.close(ctx)
}

// storageError returns an error of a statement as a client sees it.
func (u *Users) storageError(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, listcache.ErrClosed), u.queue.isClosed() && !isUnknown(err):
		return ErrClosed
	case ctx.Err() != nil && !isUnknown(err):
		return ctx.Err() // the client is gone
	}
	return u.engine.translate(err)
}

func isUnknown(err error) bool {
	failed, ok := errors.AsType[*StorageError](err)
	return ok && failed.Unknown
}
