// The tests of what users of the storage rely on. Each runs on SQLite, and with -tags postgres on PostgreSQL, too.
package database_test

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/glebarez/go-sqlite" // the driver of database/sql

	"users-api/database"
	"users-api/models"
	"users-api/tests/failing"
	"users-api/tests/program"
)

var ctx = context.Background()

// engine is one of the two, and what differs there.
type engine struct {
	name string
	// empty returns where an empty database is.
	empty func(t testing.TB) database.Location
	// other opens it as another program does.
	other func(t testing.TB, at database.Location) *sql.DB
	// failing returns where an empty database is whose statements fail.
	failing func(t testing.TB, statements *failing.Statements) database.Location
	delayed bool // the feed shows a commit only once all older transactions have ended
}

// databases are those that the tests run on, each in a file of its own.
var databases []engine

// atEnd is called after all tests.
var atEnd []func()

// TestMain runs more tests at a time than there are processors: most wait for a disk.
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "8") // it is a number
	code := m.Run()
	for _, end := range atEnd {
		end()
	}
	os.Exit(code)
}

// storage is a database that a test has for itself, and the fields of its users.
type storage struct {
	*database.Users
	engine
	at     database.Location
	fields models.Fields
}

// command changes a schema, as a command of the program does.
type command = func(database.Location, context.Context) error

// open opens an empty database.
func (d engine) open(t testing.TB) *storage {
	t.Helper()
	return d.openAt(t, d.empty(t), plain())
}

func (d engine) openAt(t testing.TB, at database.Location, fields models.Fields) *storage {
	t.Helper()
	at.Fields, at.KeepChanges, at.Logger = fields, time.Hour, slog.New(slog.DiscardHandler)
	s := &storage{engine: d, at: at, fields: fields}
	s.Users = s.open(t)
	return s
}

// open opens the database as another process does.
func (s *storage) open(t testing.TB) *database.Users {
	t.Helper()
	users, err := s.at.Open(ctx, 8<<20)
	program.Must(t, err)
	t.Cleanup(func() { _ = users.Close(ctx) })
	return users
}

// connect opens a database with one connection until the end of the test.
func connect(t testing.TB, driver, name string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, name)
	program.Must(t, err)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// onEach runs a test on every database.
func onEach(t *testing.T, test func(*testing.T, *storage)) {
	t.Parallel()
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			test(t, d.open(t))
		})
	}
}

// plain returns the table of the specification's fields, a name and an email. Tests that spell out whole users use it, so
// that a field that is added to the model does not change what they expect.
func plain() models.Fields { return models.NewFields()[:2] }

// values returns values for fields, from pairs of a field's name and its text. An empty text stands for itself.
func values(fields models.Fields, pairs ...string) (values models.Values) {
	for i := 0; i < len(pairs); i += 2 {
		values.Set(fields.Find(pairs[i]), pairs[i+1])
	}
	return values
}

// create creates a user whose name is its email.
func (s *storage) create(t testing.TB, email string) int64 {
	t.Helper()
	id, err := s.Create(ctx, models.Profile{Name: email, Email: email})
	if err != nil {
		t.Fatalf("creating %s: %v", email, err)
	}
	return id
}

// add creates a user, or says why not.
func (s *storage) add(ctx context.Context, email string) error {
	_, err := s.Create(ctx, models.Profile{Name: "n", Email: email})
	return err
}

// rename changes the name of a user.
func (s *storage) rename(id int64, name string) error {
	_, err := s.Change(ctx, database.Who{ID: id}, values(s.fields, "name", name), nil)
	return err
}

func (s *storage) remove(id int64) error {
	_, err := s.Delete(ctx, database.Who{ID: id}, nil)
	return err
}

// file returns the rows of a file from texts such as "Ada:ada@example.org".
func file(texts ...string) (rows []models.Values) {
	for _, text := range texts {
		name, email, _ := strings.Cut(text, ":")
		rows = append(rows, values(plain(), "name", name, "email", email))
	}
	return rows
}

// selected returns the users that a query selects.
func selected(t testing.TB, from *database.Users, query models.Query) (users []models.User) {
	t.Helper()
	err := from.Query(ctx, query, func(result database.Result) error {
		for user, err := range result.Users {
			if err != nil {
				return err
			}
			users = append(users, *user)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%+v: %v", query, err)
	}
	return users
}

// refusal returns the error of storage that an error is, or nil.
func refusal(err error) *models.StorageError {
	failed, _ := errors.AsType[*models.StorageError](err)
	return failed
}

var sqlite = engine{
	name: "SQLite",
	empty: func(t testing.TB) database.Location {
		return database.Location{Path: filepath.Join(t.TempDir(), "data", "users.db")}
	},
	other: func(t testing.TB, at database.Location) *sql.DB {
		t.Helper()
		return connect(t, "sqlite", "file:"+at.Path+"?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)")
	},
	failing: func(t testing.TB, statements *failing.Statements) database.Location {
		return database.Location{Path: failing.File(t, statements)}
	},
}

func init() { databases = append(databases, sqlite) }

// The version of SQLite matters: those before 3.51.3 can corrupt a database when its -wal file is reset.
func TestSQLiteIsNewEnough(t *testing.T) {
	t.Parallel()
	other := sqlite.other(t, database.Location{Path: filepath.Join(t.TempDir(), "users.db")})
	var version string
	program.Must(t, other.QueryRow("SELECT sqlite_version()").Scan(&version))
	var major, minor, patch int
	if _, err := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch); err != nil || major*1_000_000+minor*1000+patch < 3_051_003 {
		t.Errorf("SQLite is %s", version)
	}
}
