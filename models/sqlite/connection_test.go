package sqlite

import (
	"fmt"
	"testing"

	library "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"users-api/models"
	"users-api/models/sqlite/sqlitetest"
	"users-api/models/statements"
	"users-api/models/storetest"
)

func openTestConnection(t *testing.T, users *Users) *connection {
	t.Helper()
	queries, err := newQueries(storetest.Fields())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := queries.connect(users.writer.files.database.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// A statement that is kept compiled sees what another program makes of the table.
func TestAKeptStatementSeesAnotherTable(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 1<<20)
	other := otherProgram(t, users)
	id := storetest.Create(t, users, "before")
	storetest.Text(t, users)
	sqlitetest.Run(t, other, "DROP TABLE users")
	if _, err := users.Get(ctx, id); err == nil || err.Error() != "SQL logic error: no such table: users (1)" {
		t.Errorf("without a table: %v", err)
	}
	sqlitetest.Run(t, other, "CREATE TABLE users (created_at, email UNIQUE, name, id INTEGER PRIMARY KEY)",
		"INSERT INTO users VALUES ('2024-01-02 03:04:05', 'e', 'n', 7)")
	user, err := users.Get(ctx, 7)
	want := `{"id":7,"name":"n","email":"e","created_at":"2024-01-02 03:04:05"}`
	if err != nil || string(storetest.Fields().AppendUser(nil, &user)) != want {
		t.Errorf("in another table: %+v, %v", user, err)
	}
	storetest.Create(t, users, "after")
	expectWhole(t, users)
}

func TestAValueOfAnyKindIsReadAsATextWhateverTheFileIsEncodedIn(t *testing.T) {
	t.Parallel()
	email := "ラ\x00ä"
	for encoding, abc := range map[string]string{
		"UTF-8": "x'616263'", "UTF-16le": "x'610062006300'", "UTF-16be": "x'006100620063'",
	} {
		users, _ := openTable(t, 0, "PRAGMA encoding = '"+encoding+"'",
			"CREATE TABLE users (id INTEGER PRIMARY KEY, name, email, created_at)",
			"INSERT INTO users VALUES (1, "+abc+", 'ラ' || char(0) || 'ä', NULL), (2, 1500000.0, -7, '')")
		for id, want := range map[int64]models.NewUser{1: {Name: "abc", Email: email}, 2: {Name: "1500000.0", Email: "-7"}} {
			if user, err := users.Get(ctx, id); err != nil || !storetest.SameValues(user.NewUser, want) {
				t.Errorf("in %s: %q and %q, %v", encoding, user.Name, user.Email, err)
			}
		}
		if n, err := users.Count(ctx, models.Query{Equal: storetest.Values("email", email)}); n != 1 || err != nil {
			t.Errorf("in %s %d have a NUL in their email: %v", encoding, n, err)
		}
	}
}

// SQLite asks the authorizer of a connection whenever it compiles a statement. For some arguments it would compile a
// statement again, although the library keeps it.
func TestAStatementIsCompiledOnceWhateverItsArgumentsAre(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	fill(t, users, 10)
	queries := openTestConnection(t, users).queries
	conn, err := library.OpenConn(users.writer.files.database.path, library.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // it was only read
	compiled := 0
	if err := conn.SetAuthorizer(library.AuthorizeFunc(func(library.Action) library.AuthResult {
		compiled++
		return library.AuthResultOK
	})); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		before := compiled
		email, after := fmt.Sprintf("user%d@example.org", i), int64(i)
		for _, query := range []models.Query{{Equal: storetest.Values("email", email)}, {After: &after}, {Contains: email}} {
			c := &connection{queries: queries}
			values := append(c.selecting(query), int64(i+1))
			if err := sqlitex.Execute(conn, c.selected(query, statements.Scan), &sqlitex.ExecOptions{Args: values}); err != nil {
				t.Fatal(err)
			}
		}
		if again := compiled > before; again != (i == 0) {
			t.Errorf("run %d compiled statements: %t", i, again)
		}
	}
}
