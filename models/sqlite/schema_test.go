package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"users-api/models"
	"users-api/models/sqlite/sqlitetest"
	"users-api/models/storetest"
)

// schemaChanges are what may change the table of a database.
var schemaChanges = map[string]func(context.Context, string) error{
	"a column": func(ctx context.Context, path string) error {
		return AddColumn(ctx, path, models.NewFields("phone").Find("phone"))
	},
	"an index": IgnoreEmailCase,
}

// schema returns the text of a database's schema and its version.
func schema(t *testing.T, db *sql.DB) (text string) {
	t.Helper()
	var version int
	if err := errors.Join(db.QueryRow("SELECT group_concat(sql, '; ') FROM sqlite_schema").Scan(&text),
		db.QueryRow("PRAGMA schema_version").Scan(&version)); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(text, " ", version)
}

func TestAColumnIsAddedBesideAService(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 1<<20)
	path := users.writer.files.database.path
	id := storetest.Create(t, users, "before")
	for _, field := range storetest.WithAdded(models.MostAdded)[2:] {
		if err := AddColumn(ctx, sqlitetest.Link(t, path), field); err != nil {
			t.Fatalf("%s: %v", field.Name, err)
		}
		storetest.Create(t, users, "beside "+field.Name)
		expectWhole(t, users)
	}
	fields := storetest.WithAdded(models.MostAdded)
	with, err := Open(ctx, path, fields, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer with.Close(ctx) //nolint:errcheck // the other service has it open
	all := models.Values{Fields: fields.All(), User: models.NewUser{Name: "n", Email: "e"}}
	for i, field := range fields[2:] {
		field.Set(&all.User, fmt.Sprint(i))
	}
	before := models.NewUser{Name: "before", Email: "before"}
	if user, err := with.Get(ctx, id); err != nil || !storetest.SameValues(user.NewUser, before) {
		t.Errorf("a user from before has %+v, %v", user, err)
	}
	if user, err := with.Change(ctx, id, all, nil); err != nil || !storetest.SameValues(user.NewUser, all.User) {
		t.Errorf("the user is changed to %+v, %v", user, err)
	}
	expectWhole(t, users)
}

func TestAColumnThatExistsIsNotAdded(t *testing.T) {
	t.Parallel()
	for _, column := range []string{"phone TEXT", "PHONE INTEGER", "Phone AS (name)"} {
		path := sqlitetest.File(t, sqlitetest.Table+"; ALTER TABLE users ADD COLUMN "+column)
		other := sqlitetest.Open(t, path)
		before := schema(t, other)
		err := AddColumn(ctx, path, models.NewFields("phone").Find("phone"))
		if err == nil || err.Error() != "the table users has the column phone already: nothing was changed" {
			t.Errorf("%s: %v", column, err)
		}
		if after := schema(t, other); after != before {
			t.Errorf("the schema was %s and is %s", before, after)
		}
	}
}

func TestNoDatabaseIsMadeForAChangeOfItsTable(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "users.db")
	empty, view := sqlitetest.File(t, "CREATE TABLE other (id)"), sqlitetest.File(t, "CREATE VIEW users AS SELECT 1 AS id")
	for what, change := range schemaChanges {
		for _, test := range []struct{ path, want string }{
			{missing, "there is no database " + missing + ": start the service, which makes it with the fields in USER_FIELDS, " +
				"or set DATA_DIR to the directory that the service uses"},
			{sqlitetest.Link(t, missing), "there is no database "},
			{empty, "the database " + empty + " has no table users: start the service, which makes it with the fields in " +
				"USER_FIELDS"},
			{view, "view"},
			{filepath.Dir(missing), "is a directory"},
		} {
			err := change(ctx, test.path)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s in %s: %v, want %s", what, test.path, err, test.want)
			}
		}
	}
	if left, err := os.ReadDir(filepath.Dir(missing)); len(left) > 0 || err != nil {
		t.Errorf("left are %v, %v", left, err)
	}
}

// An import holds the lock for as long as it stores, which may be minutes.
func TestAChangeOfTheTableWaitsForTheLockAsLongAsAWriteDoes(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	path := users.writer.files.database.path
	for what, change := range schemaChanges {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			begun, end := make(chan struct{}), make(chan struct{})
			ended := make(chan error)
			go func() {
				ended <- users.writer.do(ctx, &write{exclusive: true, run: func(*transaction) error {
					close(begun)
					<-end
					return nil
				}})
			}()
			<-begun
			err := change(ctx, path)
			close(end)
			want := "nothing was changed, because another program held the lock of " + path + " for more than 5s, as the service " +
				"does during an import: try again afterwards"
			if err == nil || err.Error() != want {
				t.Errorf("beside an import: %v", err)
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAChangeOfTheTableThatIsStoppedChangesNothing(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	other := otherProgram(t, users)
	before := schema(t, other)
	gone, leave := context.WithCancel(ctx)
	leave()
	for what, change := range schemaChanges {
		err := change(gone, users.writer.files.database.path)
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "stopped before the table users in ") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if after := schema(t, other); after != before {
		t.Errorf("the schema was %s and is %s", before, after)
	}
}

// As the service's own, the transaction is flushed to disk when it is committed.
func TestAChangeOfTheTableIsDurable(t *testing.T) {
	t.Parallel()
	path := sqlitetest.File(t, sqlitetest.Table)
	err := changeTable(ctx, path, func(conn *connection) error {
		if !conn.InTransaction() {
			t.Error("there is no transaction")
		}
		return verify(conn.Connection)
	})
	if err != nil {
		t.Error(err)
	}
}
