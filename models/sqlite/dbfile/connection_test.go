package dbfile

import (
	"errors"
	"fmt"
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

// A client can make the service run any number of statements.
func TestAConnectionKeepsABoundedNumberOfStatements(t *testing.T) {
	t.Parallel()
	conn := openFile(t, sqlitetest.Closed(t, "ada"))
	compiled := 0
	if err := conn.sqlite.SetAuthorizer(sqlite.AuthorizeFunc(func(sqlite.Action) sqlite.AuthResult {
		compiled++
		return sqlite.AuthResultOK
	})); err != nil {
		t.Fatal(err)
	}
	for run := range 3 {
		for i := range 2 * mostKept {
			before := compiled
			n, _, err := conn.Number(fmt.Sprintf("SELECT id + %d + ? FROM users", i), int64(run))
			if n != int64(2+i+run) && n != int64(1+i+run) || err != nil {
				t.Fatalf("statement %d returns %d, %v", i, n, err)
			}
			if again := compiled > before; again != (run == 0 || i >= mostKept) {
				t.Errorf("run %d compiled statement %d: %t", run, i, again)
			}
		}
	}
	if len(conn.kept) != mostKept {
		t.Errorf("%d statements are kept", len(conn.kept))
	}
	if err := conn.sqlite.Close(); err != nil { // SQLite refuses to if there is another
		t.Errorf("it cannot be closed: %v", err)
	}
}

// The rows of a query may be used for other queries, and for the same one: whether it is kept or not.
func TestQueriesMayBeNested(t *testing.T) {
	t.Parallel()
	conn := openFile(t, sqlitetest.Closed(t, "ada"))
	if err := conn.Script("INSERT INTO users (name, email) VALUES ('n', 'b'), ('n', 'c')"); err != nil {
		t.Fatal(err)
	}
	for _, kept := range []int{0, mostKept} {
		for i := range kept {
			if _, _, err := conn.Number(fmt.Sprintf("SELECT %d", i)); err != nil {
				t.Fatal(err)
			}
		}
		text, all := fmt.Sprintf("SELECT id FROM users WHERE id >= ? -- beside %d", kept), ""
		err := conn.Query(func(outer Row) error {
			err := conn.Query(func(inner Row) error {
				all += fmt.Sprint(outer.Number(0), inner.Number(0), " ")
				return nil
			}, text, outer.Number(0))
			all += fmt.Sprint(outer.Number(0), " ")
			return err
		}, text, int64(1))
		if err != nil || all != "1 1 1 2 1 3 1 2 2 2 3 2 3 3 3 " {
			t.Errorf("beside %d: %s, %v", kept, all, err)
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
