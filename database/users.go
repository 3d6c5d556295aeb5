// Package database is the storage of users: GORM on one SQLite file, or on PostgreSQL. It knows nothing of HTTP.
//
// docs/architecture.md follows a creation through its files. What the databases do in different ways is behind [pool] and
// [dialect], in the files that begin with their names.
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

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"users-api/models"
)

// Location says where the users are, and which fields they have.
type Location struct {
	URL         string // of a PostgreSQL database; if it is empty, the users are in a file
	Path        string // of the SQLite file
	Fields      models.Fields
	KeepChanges time.Duration // how long the entries of users_changes are kept; 0 records none
	Logger      *slog.Logger
}

// String is for the log: the path of the file, or the hosts, ports and name of the database, never its user and
// password.
func (d Location) String() string {
	if d.URL == "" {
		return d.Path
	}
	address, _, _ := parseURL(d.URL)
	return "postgres://" + strings.Join(address.hosts, ",") + "/" + address.database
}

// Users is the table of users in its database. Many goroutines may call its methods at once. A method that writes
// returns nil only after the commit of its write is on disk. A method that reads sees every commit, of any process,
// that was complete when it was called. An error is [models.ErrNotFound], the error of a [models.Precondition], the
// context's, or a [*models.StorageError]. The context ends the wait of a write until its commit begins.
type Users struct {
	TempPrefix string          // of the names of temporary files: the next start removes those of a killed process
	Replaced   <-chan struct{} // closed when the database file was removed or replaced: only a restart helps; nil on a server

	pool      pool
	dialect   dialect
	table     table
	fields    models.Fields
	texts     models.Fields        // the same without their types
	columns   []string             // of a user, as every statement reads them
	keep      time.Duration        // of the entries of users_changes; 0 records none
	commits   prometheus.Histogram // how many writes shared each
	batchTime time.Duration        // how long a batch may take
	closed    atomic.Bool
	writes    *semaphore.Weighted // held in part by a write under way, and as a whole by the close
	list      listCache
	newest    singleflight.Group  // asks for the newest cursor
	searches  *semaphore.Weighted // held by a query that looks at every user
	reading   *semaphore.Weighted // held before that by one for who may only read: few of these are ever in front of others
	imports   *semaphore.Weighted // held by an import: many that wait would take the connections of all other requests
	ended     context.Context     // ends all waiting
	endAll    context.CancelFunc
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
	// write carries out a write in a transaction, perhaps again, stores its entries, and commits. With an error nothing was
	// stored, unless it says that this is not known. It gives up after about 5 s, without the time of imports. The end of
	// the context ends only the wait for the transaction to begin.
	write(ctx context.Context, run write) error
	// batch calls run in a transaction likewise, which has more time.
	batch(ctx context.Context, run func(tx *gorm.DB) error) error
	// importing is like batch, for an import, without a time limit.
	importing(ctx context.Context, run func(tx *gorm.DB) error) error
	// trying is like importing, on a copy of the users that nobody else sees, and that is gone afterwards. No write waits
	// for it.
	trying(ctx context.Context, run func(tx *gorm.DB) error) error
	// measure returns the sizes of the database and of what is not moved into it yet, and how old the oldest entry of the
	// feed is that is not shown yet. What fails is 0.
	measure(ctx context.Context) (database, wal int64, lag time.Duration)
	close(ctx context.Context) error
}

// dialect is what SQLite and PostgreSQL say in different ways. It knows nothing of connections.
type dialect interface {
	// These return SQL that asks: is users an ordinary table, and its id an integer that is its key; which columns does a
	// table or view have, and of which types; which columns of users have a unique index, and does that ignore the case?
	kindOfUsers() string
	columns() string
	uniqueColumns() string
	// accepts reports whether a field, or a time, may have a type of the database, and says which it may have.
	accepts(typeName string, isTime bool) (fits bool, types string)
	// hasSearchIndex reports whether searches in some columns have an index as this program makes it.
	hasSearchIndex(db *gorm.DB, columns []string) (bool, error)
	// earlier selects what earlier versions have made to record changes and to set updated_at, as DROP names it.
	earlier() string
	// createChanges creates users_changes.
	createChanges(tx *gorm.DB) error
	// beginEpoch begins an epoch of the feed where there is none that this server has begun, or anew.
	beginEpoch(tx *gorm.DB, anew bool) error
	// classify returns an error of GORM as a client sees it, and whether the database refuses what a statement asked
	// for: then that has stored nothing, and other statements may succeed. It is a refusal unless the connection, the
	// disk or another transaction is to blame. Errors that are not the database's stay as they are: what has been
	// classified once is no refusal any more.
	classify(err error) (shown error, isRefusal bool)
	// endsTransaction reports whether, after this error of a statement, its transaction cannot go on: even if what the
	// statement has done is rolled back.
	endsTransaction(tx *gorm.DB, err error) bool
	// holds reports whether the database can hold a text: PostgreSQL holds no NUL, and nothing that is no UTF-8.
	holds(text string) bool
	// maxParameters is how many values a statement has at most.
	maxParameters() int

	// These return expressions of SQL:
	shownTime(column string) string // a time as it is shown
	cutTime(column string) string   // a time without fractions of a second
	foldedEmail() string            // the email as the index has it that ignores the case of ASCII letters
	lower(text string) string       // a text with its ASCII letters in lower case
	fold(text string) string        // a text as [models.Fold] returns it
	bytes(text string) string       // the bytes of a text
	position(bytes string) string   // where bytes contain others, which are a parameter; 0 where they do not

	// ordered returns by what values of a type that has a pattern are ordered, as [models.Type.Order] returns it; NULL for
	// others.
	ordered(column string, of *models.Type) clause.Expr
	// containsWords returns the condition that each of some folded words is in one of the columns.
	containsWords(columns, words []string) clause.Expression
	// dropSearchIndex removes the index of searches, in whatever state it is.
	dropSearchIndex(tx *gorm.DB) error
	// seek lets a query that requires this of the columns with some names use the index of searches.
	seek(db *gorm.DB, columns, words []string) *gorm.DB

	// feed is what the order of the feed is.
	feed() feed
}

// Open opens the database and creates what is missing: the directory, the file, the table. The list is cached in up to
// listMemory bytes. The context ends the wait for a lock, or for a server that starts. The error says what to do.
func (d Location) Open(ctx context.Context, listMemory int) (*Users, error) {
	u := &Users{
		list: listCache{maxBytes: listMemory, sent: newListCounter()}, keep: d.KeepChanges,
		fields: d.Fields, texts: fieldsWith(d.Fields.OptionalNames()...), columns: []string{"id"},
		writes: semaphore.NewWeighted(allWrites), imports: semaphore.NewWeighted(1),
	}
	u.ended, u.endAll = context.WithCancel(context.WithoutCancel(ctx))
	open := u.openSQLite
	if d.URL != "" {
		open = u.openPostgres
	}
	searchers, err := open(ctx, d)
	if err != nil {
		u.endAll()
		return nil, err
	}
	for _, name := range append(u.fields.Names(), "created_at") {
		column := "users." + quote(name) // SQLite would take an unknown name in quotes for a text, unless it has that of its table
		if u.fields.IsTime(name) {
			column = u.dialect.shownTime(column) + " AS " + quote(name)
		}
		u.columns = append(u.columns, column)
	}
	searchers = min(searchers, max(1, runtime.GOMAXPROCS(0)-1)) // one core is left for writes and lists
	u.searches, u.reading = semaphore.NewWeighted(int64(searchers)), semaphore.NewWeighted(int64(searchers))
	return u, nil
}

// addColumns makes GORM see each field that a setting adds as a column of [models.User] that may be NULL, and times as the
// database has them.
func addColumns(db *gorm.DB, fields models.Fields) error {
	users, texts := &gorm.Statement{DB: db}, &gorm.Statement{DB: db}
	type nullable struct{ Text *string }
	if err := errors.Join(users.Parse(&models.User{}), texts.Parse(&nullable{})); err != nil {
		return err
	}
	createdAt := users.Schema.LookUpField("created_at")
	if db.Name() == "postgres" { // whose own type of a time has fractions, and would be rounded up, into the future
		createdAt.DataType, createdAt.DefaultValue = "timestamptz(0)", "date_trunc('second', CURRENT_TIMESTAMP)"
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
			column.DataType = createdAt.DataType
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

// Fields returns the fields of a user.
func (u *Users) Fields() models.Fields { return u.fields }

// Uniqueness returns the names of the fields of which no two users have the same value, and whether emails that differ
// only in the case of ASCII letters are the same.
func (u *Users) Uniqueness() (unique []string, ignoresCase bool) {
	return u.table.unique, u.table.ignoresCase
}

const allWrites = 1 << 30 // more than there can be at once

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

// errSlow: a read took too long, for example because another program has locked the table, and was ended.
var errSlow = &models.StorageError{Text: "the database did not answer in time", Meaning: "too late"}

// storageError returns an error of a statement as a client sees it.
func (u *Users) storageError(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case u.closed.Load() && !isUnknown(err):
		return models.ErrClosed
	case ctx.Err() != nil && !isUnknown(err):
		return context.Cause(ctx) // the client is gone, or errSlow
	}
	shown, _ := u.dialect.classify(err)
	return shown
}

// isUnknown reports whether the database may have stored a write in spite of its error.
func isUnknown(err error) bool {
	failed, ok := errors.AsType[*models.StorageError](err)
	return ok && failed.Unknown
}
