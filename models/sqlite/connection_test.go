package sqlite

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	"users-api/models"
	"users-api/models/storetest"
)

func openTestConnection(t *testing.T, users *Users) connection {
	t.Helper()
	conn, err := connect(users.writer.files.database.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.close)
	return conn
}

// SQLite asks the authorizer of a connection whenever it compiles a statement.
func TestAStatementIsCompiledOnceWhateverItsArgumentsAre(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	fill(t, users, 10)
	conn := openTestConnection(t, users)
	compiled := 0
	if err := conn.sqlite.SetAuthorizer(sqlite.AuthorizeFunc(func(sqlite.Action) sqlite.AuthResult {
		compiled++
		return sqlite.AuthResultOK
	})); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		before := compiled
		email, after := fmt.Sprintf("user%d@example.org", i), int64(i)
		for _, query := range []models.Query{{Equal: storetest.Values("email", email)}, {After: &after}, {Contains: email}} {
			if _, _, err := users.reader.queries.page(conn, models.Query{
				Equal: query.Equal, After: query.After, Contains: query.Contains, Limit: i + 1,
			}); err != nil {
				t.Fatal(err)
			}
		}
		if again := compiled > before; again != (i == 0) {
			t.Errorf("run %d compiled statements: %t", i, again)
		}
	}
}

// A statement that is kept compiled sees what another program makes of the table.
func TestAKeptStatementSeesAnotherTable(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 1<<20)
	other := otherProgram(t, users)
	id := storetest.Create(t, users, "before")
	storetest.Text(t, users)
	run(t, other, "DROP TABLE users")
	if _, err := users.Get(ctx, id); err == nil || err.Error() != "SQL logic error: no such table: users (1)" {
		t.Errorf("without a table: %v", err)
	}
	run(t, other, "CREATE TABLE users (created_at, email UNIQUE, name, id INTEGER PRIMARY KEY)",
		"INSERT INTO users VALUES ('2024-01-02 03:04:05', 'e', 'n', 7)")
	user, err := users.Get(ctx, 7)
	want := `{"id":7,"name":"n","email":"e","created_at":"2024-01-02 03:04:05"}`
	if err != nil || string(models.NewFields().AppendUser(nil, &user)) != want {
		t.Errorf("in another table: %+v, %v", user, err)
	}
	storetest.Create(t, users, "after")
	expectWhole(t, users)
}

func TestAConnectionIsUsableAfterAnErrorOfAnyKind(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	conn := openTestConnection(t, users)
	stop := errors.New("stop")
	exec := func(statement string) error { _, err := conn.exec(statement); return err }
	for name, test := range map[string]struct{ got, want error }{
		"no statement": {exec("SELEC"), errors.New(`SQL logic error: near "SELEC": syntax error (1)`)},
		"a script":     {conn.script("SELECT 1; SELECT x"), errors.New("SQL logic error: no such column: x (1)")},
		"a constraint": {exec("INSERT INTO users (email) VALUES ('e')"),
			errors.New("constraint failed: NOT NULL constraint failed: users.name (1299)")},
		"a caller who stops": {conn.query(func(row) error { return stop }, "SELECT 1"), stop},
	} {
		if test.got == nil || test.got.Error() != test.want.Error() {
			t.Errorf("%s: %v", name, test.got)
		}
	}
	if n, found, err := conn.number("SELECT ? + 1", int64(41)); n != 42 || !found || err != nil {
		t.Errorf("after all that: %d, %t, %v", n, found, err)
	}
	if err := conn.query(func(row) error { return errEnough }, "SELECT 1"); err != nil {
		t.Errorf("a caller who has enough: %v", err)
	}
	if _, found, err := conn.number("SELECT max(id) FROM users"); found || err != nil {
		t.Errorf("NULL is a number: %v", err)
	}
	if _, err := openConnection("file:/nothing/at/all?mode=rw"); primaryCode(err) != codeCannotOpen {
		t.Errorf("opening nothing: %v", err)
	}
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
			if user, err := users.Get(ctx, id); err != nil || user.NewUser != want {
				t.Errorf("in %s: %q, %v", encoding, user.NewUser, err)
			}
		}
		if n, err := users.Count(ctx, models.Query{Equal: storetest.Values("email", email)}); n != 1 || err != nil {
			t.Errorf("in %s %d have a NUL in their email: %v", encoding, n, err)
		}
	}
}

// The library's own way to wait has no end.
func TestAConnectionThatIsNotToldToWaitForALockDoesNot(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	run(t, otherProgram(t, users), "BEGIN IMMEDIATE")
	conn, err := openConnection(fileSource(users.writer.files.database.path))
	if err != nil {
		t.Fatal(err)
	}
	answer := make(chan error)
	go func() { answer <- conn.script("BEGIN IMMEDIATE") }()
	select {
	case err := <-answer:
		conn.close()
		if err == nil || err.Error() != "database is locked (5) (SQLITE_BUSY)" {
			t.Errorf("the answer is %v", err)
		}
	case <-time.After(busyTimeout):
		t.Error("it waits")
	}
}
