package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"users-api/models"
	"users-api/models/sqlite/sqlitetest"
	"users-api/models/storetest"
)

func compareWithCreations(t *testing.T, schema, emails []string) {
	imported, other := openTable(t, 1<<20, schema...)
	created, reference := openTable(t, 1<<20, schema...)
	var rows []models.NewUser
	var lines []int
	for i, email := range emails {
		rows = append(rows, models.NewUser{Name: email, Email: email})
		if _, err := created.Create(ctx, rows[i]); err != nil {
			lines = append(lines, i+2)
		}
	}
	done, err := imported.Import(ctx, storetest.Rows(rows...), models.ImportOptions{})
	if len(lines) == 0 {
		if err != nil || done.Created != len(rows) {
			t.Errorf("the import: %+v, %v", done, err)
		}
		if got, want := dump(t, other), dump(t, reference); got != want {
			t.Errorf("the import stored\n%s\nand the creations\n%s", got, want)
		}
		return
	}
	refused, ok := errors.AsType[*models.RefusedRows](err)
	if !ok || len(refused.Listed) == 0 {
		t.Fatalf("the creations refused lines %v, and the import said %v", lines, err)
	}
	for i, row := range refused.Listed {
		if row.Line != lines[i] {
			t.Errorf("the import refused %v, want line %d", row, lines[i])
		}
	}
	if strings.Contains(strings.Join(schema, ""), "ROLLBACK") {
		lines = lines[:1] // behind it there is no transaction to try others in
	}
	if len(refused.Listed) != len(lines) {
		t.Errorf("the import refused %d lines, want %v", len(refused.Listed), lines)
	}
	_, nothing := openTable(t, 0, schema...)
	if got, want := dump(t, other), dump(t, nothing); got != want {
		t.Errorf("the refused import left\n%s", got)
	}
}

// dump returns what all tables hold, times apart.
func dump(t *testing.T, db *sql.DB) string {
	t.Helper()
	var text strings.Builder
	for _, table := range []string{"users", "log", "sqlite_sequence"} {
		rows, err := db.Query("SELECT rowid, * FROM " + table)
		if err != nil {
			continue // this schema has no such table
		}
		names, _ := rows.Columns()
		for rows.Next() {
			values := make([]any, len(names))
			for i := range values {
				values[i] = new(any)
			}
			if err := rows.Scan(values...); err != nil {
				t.Fatal(err)
			}
			for i, value := range values {
				if names[i] != "created_at" {
					fmt.Fprintf(&text, "%s.%s=%v ", table, names[i], *value.(*any))
				}
			}
			text.WriteString("\n")
		}
		_ = rows.Close()
	}
	return text.String()
}

// Where an email does not name one user, nothing can be said of a row whose email exists.
func TestRowsAreNotComparedWithATableWhereEmailsAreNotUnique(t *testing.T) {
	t.Parallel()
	const table = "CREATE TABLE users (id INTEGER PRIMARY KEY, name, email, created_at, left_at, tenant "
	rows := storetest.Rows(models.NewUser{Name: "other", Email: "e"})
	for name, schema := range map[string][]string{
		"no index":                           {table + ")"},
		"an index":                           {table + ")", "CREATE INDEX i ON users (email)"},
		"a partial index":                    {table + ")", "CREATE UNIQUE INDEX i ON users (email) WHERE left_at IS NULL"},
		"an index of two":                    {table + ", UNIQUE (email, tenant))"},
		"another index of two":               {table + ", UNIQUE (tenant, email))"},
		"an index of names":                  {table + ", UNIQUE (name))"},
		"an index of a formula":              {table + ")", "CREATE UNIQUE INDEX i ON users (lower(email))"},
		"an index of an email and a formula": {table + ")", "CREATE UNIQUE INDEX i ON users (email, lower(name))"},
	} {
		t.Run(name, func(t *testing.T) {
			users, other := openTable(t, 0, schema...)
			sqlitetest.Run(t, other, "INSERT INTO users VALUES (1, 'left', 'e', '', '2026', 1)")
			before := dump(t, other)
			for _, conflict := range []models.Conflict{models.ConflictSkips, models.ConflictUpdates} {
				if _, err := users.Import(ctx, rows, models.ImportOptions{OnConflict: conflict}); !errors.Is(err, models.ErrNotUnique) {
					t.Errorf("%d: %v", conflict, err)
				}
			}
			if after := dump(t, other); after != before {
				t.Errorf("the table was\n%s\nand is\n%s", before, after)
			}
		})
	}
}

// An index on the email alone finds the user, however the column is written and whatever else is unique.
func TestRowsAreComparedWithATableWhereEmailsAreUnique(t *testing.T) {
	for name, schema := range map[string][]string{
		"a column":            {sqlitetest.Table},
		"another letter case": {`create table "Users" (Id integer primary key, Name, EMail unique, Created_At)`},
		"another index too": {"CREATE TABLE users (id INTEGER PRIMARY KEY, name, email, created_at, UNIQUE (name, email))",
			"CREATE UNIQUE INDEX i ON users (email DESC)", "CREATE INDEX j ON users (name)"},
	} {
		t.Run(name, func(t *testing.T) {
			users, _ := openTable(t, 0, schema...)
			id := storetest.Create(t, users, "e")
			rows := storetest.Rows(models.NewUser{Name: "new", Email: "e"})
			done, err := users.Import(ctx, rows, models.ImportOptions{OnConflict: models.ConflictUpdates})
			if want := (models.Imported{Updated: 1}); !reflect.DeepEqual(done, want) || err != nil {
				t.Errorf("the import: %+v, %v", done, err)
			}
			if user, err := users.Get(ctx, id); user.Name != "new" || err != nil {
				t.Errorf("the user is %+v, %v", user, err)
			}
		})
	}
}

// Where a duplicate ends the transaction, what follows it must not be written outside of one.
func TestARowThatEndsTheTransactionEndsTheImport(t *testing.T) {
	for _, conflict := range []models.Conflict{models.ConflictFails, models.ConflictSkips, models.ConflictUpdates} {
		users, other := openTable(t, 0, "CREATE TABLE users (id INTEGER PRIMARY KEY, name, email UNIQUE ON CONFLICT ROLLBACK, created_at)",
			"INSERT INTO users VALUES (1, 'before', 'e', '')")
		before := dump(t, other)
		rows := storetest.Rows(models.NewUser{Name: "first", Email: "f"}, models.NewUser{Name: "after", Email: "e"},
			models.NewUser{Name: "last", Email: "l"})
		_, err := users.Import(ctx, rows, models.ImportOptions{OnConflict: conflict})
		refused, ok := errors.AsType[*models.RefusedRows](err)
		if !ok || refused.Refused != 1 || refused.Listed[0].Line != 3 {
			t.Errorf("%d: the import is refused with %v", conflict, err)
		}
		if after := dump(t, other); after != before {
			t.Errorf("%d: the table was\n%s\nand is\n%s", conflict, before, after)
		}
		storetest.Create(t, users, "after")
	}
}

func TestAStartRemovesWhatAKilledImportLeft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.db")
	for _, name := range []string{path + "-spool-123", path + "-other"} {
		if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	users, err := Open(ctx, path, storetest.Fields(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer users.Close(ctx) //nolint:errcheck // the test is over
	expectSound(t, users, 0)
	if _, err := os.Stat(path + "-other"); err != nil {
		t.Errorf("another's file was removed: %v", err)
	}
}
