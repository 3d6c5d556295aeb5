//go:build postgres

package commands

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"users-api/models"
	"users-api/models/postgres"
	"users-api/models/sqlite"
	"users-api/models/storetest"
	"users-api/tests/postgresql"
	"users-api/tests/program"
)

// binary is the built program.
var binary string

var ctx = context.Background()

func TestMain(m *testing.M) {
	directory, err := os.MkdirTemp("", "users-api")
	if err == nil {
		binary, err = program.Build(directory)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	postgresql.End()
	_ = os.RemoveAll(directory)
	os.Exit(code)
}

// file is a database file that users are copied from.
type file struct{ directory string }

func (f file) path() string { return filepath.Join(f.directory, "users.db") }

// newFile returns a file that the service has made, and that another program has written to.
func newFile(t testing.TB, statements ...string) file {
	t.Helper()
	f := file{t.TempDir()}
	f.open(t)()
	f.do(t, statements...)
	return f
}

// do runs statements of another program.
func (f file) do(t testing.TB, statements ...string) {
	t.Helper()
	other, err := sql.Open("sqlite", f.path())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close() //nolint:errcheck // what it did is looked at
	for _, statement := range statements {
		if _, err := other.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// open opens the file as the service does, until it is closed.
func (f file) open(t testing.TB) (closeFile func()) {
	t.Helper()
	users, err := sqlite.Open(ctx, f.path(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return func() { _ = users.Close(ctx) }
}

// list returns the list as the service sends it.
func (f file) list(t testing.TB) string {
	t.Helper()
	users, err := sqlite.Open(ctx, f.path(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer users.Close(ctx) //nolint:errcheck // it was only read
	text, _ := storetest.Text(t, users)
	return text
}

// copyTo runs the command, and returns its exit code and what it says.
func (f file) copyTo(t testing.TB, url string) (code int, says string) {
	t.Helper()
	return runCopy(t, "DATA_DIR="+f.directory, "DATABASE_URL="+url)
}

func runCopy(t testing.TB, settings ...string) (code int, says string) {
	t.Helper()
	command := exec.Command(binary, "copy")
	command.Env, command.Dir = append(settings, "GOCOVERDIR="+os.Getenv("GOCOVERDIR")), t.TempDir()
	output, err := command.CombinedOutput()
	if command.ProcessState == nil {
		t.Fatal(err)
	}
	return command.ProcessState.ExitCode(), string(output)
}

// mustCopy copies a file and returns the users that are in PostgreSQL then.
func mustCopy(t testing.TB, f file, url string) *postgres.Users {
	t.Helper()
	if code, says := f.copyTo(t, url); code != 0 || !strings.Contains(says, "copied and compared: ") {
		t.Fatalf("the copy ended with %d, and said %s", code, says)
	}
	users, err := postgres.Open(ctx, url, 0, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = users.Close(ctx) })
	return users
}

// odd are users whose texts, times and ids are hard to move.
var odd = []string{
	`INSERT INTO users (name, email) VALUES (char(9) || char(10) || char(13) || char(92), 'backslash\n'), ('\N', '\.'), ('', ''),
		('“é”', '🦊'), ('"', ','), (char(31), '1'), (char(127) || char(8), '2')`,
	`INSERT INTO users (id, name, email, created_at) VALUES (-5, 'a', 'a', '2024-02-29T23:59:60.5+02:00'),
		(100, 'b', 'b', '2024-02-29T23:59:59.5+02:00'), (101, 'c', 'c', '1600-01-01 00:00:00'), (102, 'd', 'd', '9999-12-31 23:59:59'),
		(103, 'e', 'e', NULL), (9000000000, 'f', 'f', '2024-01-01'), (9000000007, 'last', 'last', '2024-01-01')`,
	"DELETE FROM users WHERE id = -5",
	"DELETE FROM users WHERE name = 'last'",
	`WITH RECURSIVE n (i) AS (SELECT 1 UNION SELECT i + 1 FROM n WHERE i < 5000)
		INSERT INTO users (id, name, email) SELECT 1000 + i, 'User ' || i, 'user' || i FROM n`,
}

func TestACopyHasEveryUserAsTheListShowsIt(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	through := server.PgBouncer(t, "default_pool_size=3")
	for name, url := range map[string]string{
		"to a new table": server.NewDatabase(t), "through a pooler": through(server.NewDatabase(t)),
	} {
		t.Run(name, func(t *testing.T) {
			f := newFile(t, odd...)
			want, before := f.list(t), content(t, f.directory)
			users := mustCopy(t, f, url)
			if got, _ := storetest.Text(t, users); got != want {
				t.Errorf("the list was\n%.2000s\nand is\n%.2000s", want, got)
			}
			if id := storetest.Create(t, users, "next"); id != 9000000008 {
				t.Errorf("the next user has the id %d", id)
			}
			if after := content(t, f.directory); after != before {
				t.Errorf("the directory had\n%s\nand has\n%s", before, after)
			}
		})
	}
}

// content returns the names and the checksums of the files of a directory.
func content(t testing.TB, directory string) (text string) {
	t.Helper()
	entries, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(directory, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintf("%s %d %x\n", entry.Name(), len(data), bytes.Count(data, []byte{1}))
	}
	return text
}

// What a service that was killed has left in the -wal file is copied too.
func TestACopyHasWhatAKilledServiceStored(t *testing.T) {
	t.Parallel()
	live, killed := newFile(t), file{t.TempDir()}
	other, err := sqlite.Open(ctx, live.path(), 0)
	if err != nil {
		t.Fatal(err)
	}
	storetest.Create(t, other, "in the -wal file")
	for _, ending := range []string{"", "-wal"} {
		data, err := os.ReadFile(live.path() + ending)
		if err == nil {
			err = os.WriteFile(killed.path()+ending, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	_ = other.Close(ctx)
	users := mustCopy(t, killed, postgresql.Shared(t).NewDatabase(t))
	if n, err := users.Count(ctx, models.Query{}); n != 1 || err != nil {
		t.Errorf("%d users were copied, %v", n, err)
	}
}

const columns = "name text, email text unique, created_at timestamptz)"

// refusals are copies that cannot be made: what the file holds, what is in the database, and what the command says.
var refusals = []struct {
	name       string
	file, made []string
	says       []string
}{
	{"a table that is not empty", nil, []string{"CREATE TABLE users (id serial primary key, " + columns, "INSERT INTO users VALUES (1)"},
		[]string{"users in ", " is not empty"}},
	{"a view", nil, []string{"CREATE TABLE people (id serial primary key, " + columns, "CREATE VIEW users AS SELECT * FROM people"},
		[]string{"cannot copy the users to postgres://", `cannot copy to view "users"`}},
	{"a NUL, and bytes that are no text", []string{"INSERT INTO users (name, email) VALUES ('secret', '1'), ('secret' || char(0), '2')," +
		"('n', '3'), (CAST(x'ff' AS TEXT), '4'), (char(0), '5')"}, nil,
		[]string{"nothing was copied: PostgreSQL does not take 3 users; ", "0x00 (SQLSTATE 22021): those with the ids 2, 5; ",
			"0xff (SQLSTATE 22021): those with the ids 4"}},
	{"times that are none", []string{"INSERT INTO users (name, email, created_at) VALUES ('n', '1', 'yesterday'), ('n', '2', '2024-02-30 00:00:00')," +
		"('n', '3', '2024-02-28')"}, nil, []string{"the time of creation is no time: those with the ids 1, 2\n"}},
	{"ids that are too high", []string{"INSERT INTO users (id, name, email) VALUES (7, 'n', '1'), (3000000000, 'n', '2'), (3000000001, 'n', '3')"},
		[]string{"CREATE TABLE users (id serial primary key, " + columns}, []string{"integer out of range", "the ids 3000000000, 3000000001\n"}},
	{"emails that are there twice", []string{"DROP TABLE users", "CREATE TABLE users (id INTEGER PRIMARY KEY, name, email, created_at)",
		"INSERT INTO users VALUES (1, 'n', 'secret', ''), (2, 'n', 'b', ''), (3, 'n', 'secret', '')"}, nil,
		[]string{"duplicate key value", "does not take 1 users", "the ids 3\n"}},
	{"a rule that tells secrets", []string{"INSERT INTO users (name, email) VALUES ('n', 'secret')"},
		[]string{"CREATE TABLE users (id serial primary key, " + columns,
			"CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not %', new.email; END $$",
			"CREATE TRIGGER t BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION f()"}, []string{"(SQLSTATE P0001): those with the ids 1\n"}},
	{"a trigger that changes names", []string{"INSERT INTO users (name, email) VALUES ('n', '1')"},
		[]string{"CREATE TABLE users (id serial primary key, " + columns,
			"CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN new.name := 'N'; RETURN new; END $$",
			"CREATE TRIGGER t BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION f()"}, []string{"the two lists are not the same"}},
	{"ids that nobody gives", []string{"INSERT INTO users (name, email) VALUES ('n', '1')"},
		[]string{"CREATE TABLE users (id bigint primary key, " + columns}, []string{"the column id of users has no sequence"}},
	{"a file that is no database", []string{"not a database"}, nil, []string{"users.db is not an SQLite database"}},
	{"no file", []string{"no file"}, nil, []string{"there is no database", "set DATA_DIR"}},
}

func TestWhatCannotBeCopiedIsSaidOnOneLineAndNothingIsStored(t *testing.T) {
	t.Parallel()
	server := postgresql.Shared(t)
	for _, test := range refusals {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			url := server.NewDatabase(t)
			postgresql.SQL(t, url, append(test.made, "CREATE TABLE IF NOT EXISTS users (id serial primary key, "+columns)...)
			before := postgresql.Ask(t, url, "SELECT count(*)::text FROM users")
			f := file{t.TempDir()}
			switch {
			case len(test.file) == 0 || strings.Contains(test.file[0], "users"):
				f = newFile(t, test.file...)
			case test.file[0] != "no file":
				if err := os.WriteFile(f.path(), []byte(strings.Repeat(test.file[0], 100)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			code, says := f.copyTo(t, url)
			expectOneLine(t, code, says, test.says...)
			if after := postgresql.Ask(t, url, "SELECT count(*)::text FROM users"); after != before {
				t.Errorf("%s users were there, and %s are", before, after)
			}
		})
	}
}

func expectOneLine(t *testing.T, code int, says string, want ...string) {
	t.Helper()
	if code != 1 || strings.Count(says, "\n") != 1 || !strings.HasPrefix(says, "users-api: ") || strings.Contains(says, "secret") {
		t.Errorf("it ended with %d, and said %s", code, says)
	}
	for _, text := range want {
		if !strings.Contains(says, text) {
			t.Errorf("%q is not in: %s", text, says)
		}
	}
}

func TestACopyNeedsATargetAndAFileThatNobodyUses(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	code, says := runCopy(t, "DATA_DIR="+f.directory)
	expectOneLine(t, code, says, "DATABASE_URL is not set", "postgres://")
	closeFile := f.open(t)
	defer closeFile()
	code, says = f.copyTo(t, postgresql.Shared(t).NewDatabase(t))
	expectOneLine(t, code, says, "the process ", " has the database ", "stop the service, and try again")
}
