package dbfile

import (
	"errors"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	"users-api/models/sqlite/sqlitetest"
)

func openFile(t *testing.T, path string) *Connection {
	t.Helper()
	conn, err := Open(path, ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// SQLite asks the authorizer of a connection whenever it compiles a statement.
func TestAStatementIsCompiledOnce(t *testing.T) {
	t.Parallel()
	conn := openFile(t, sqlitetest.Closed(t, "ada"))
	compiled := 0
	if err := conn.sqlite.SetAuthorizer(sqlite.AuthorizeFunc(func(sqlite.Action) sqlite.AuthResult {
		compiled++
		return sqlite.AuthResultOK
	})); err != nil {
		t.Fatal(err)
	}
	for run := range int64(5) {
		before := compiled
		if _, _, err := conn.Number("SELECT id FROM users WHERE id > ?", run); err != nil {
			t.Fatal(err)
		}
		if again := compiled > before; again != (run == 0) {
			t.Errorf("run %d compiled the statement: %t", run, again)
		}
	}
}

func TestAConnectionIsUsableAfterAnErrorOfAnyKind(t *testing.T) {
	t.Parallel()
	conn := openFile(t, sqlitetest.Closed(t, "ada"))
	stop := errors.New("stop")
	exec := func(statement string) error { _, err := conn.Exec(statement); return err }
	for name, test := range map[string]struct{ got, want error }{
		"no statement": {exec("SELEC"), errors.New(`SQL logic error: near "SELEC": syntax error (1)`)},
		"a script":     {conn.Script("SELECT 1; SELECT x"), errors.New("SQL logic error: no such column: x (1)")},
		"a constraint": {exec("INSERT INTO users (email) VALUES ('e')"),
			errors.New("constraint failed: NOT NULL constraint failed: users.name (1299)")},
		"a caller who stops": {conn.Query(func(Row) error { return stop }, "SELECT 1"), stop},
	} {
		if test.got == nil || test.got.Error() != test.want.Error() {
			t.Errorf("%s: %v", name, test.got)
		}
	}
	if n, found, err := conn.Number("SELECT ? + 1", int64(41)); n != 42 || !found || err != nil {
		t.Errorf("after all that: %d, %t, %v", n, found, err)
	}
	if err := conn.Query(func(Row) error { return ErrEnough }, "SELECT 1"); err != nil {
		t.Errorf("a caller who has enough: %v", err)
	}
	if _, found, err := conn.Number("SELECT max(id) FROM users WHERE id < 0"); found || err != nil {
		t.Errorf("NULL is a number: %v", err)
	}
	if _, err := Open("/nothing/at/all", ReadWrite); PrimaryCode(err) != CodeCannotOpen {
		t.Errorf("opening nothing: %v", err)
	}
}

// The library's own way to wait has no end.
func TestAConnectionThatIsNotToldToWaitForALockDoesNot(t *testing.T) {
	t.Parallel()
	path := sqlitetest.Closed(t, "ada")
	sqlitetest.Run(t, sqlitetest.Open(t, path), "BEGIN IMMEDIATE")
	conn := openFile(t, path)
	answer := make(chan error)
	go func() { answer <- conn.Script("BEGIN IMMEDIATE") }()
	select {
	case err := <-answer:
		if err == nil || err.Error() != "database is locked (5) (SQLITE_BUSY)" {
			t.Errorf("the answer is %v", err)
		}
	case <-time.After(BusyTimeout):
		t.Error("it waits")
	}
}
