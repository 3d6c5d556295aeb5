//go:build postgres

package commands

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"users-api/models"
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

// open opens a database as the service does.
func open(t testing.TB, d models.Database) *models.Users {
	t.Helper()
	d.Logger = slog.New(slog.DiscardHandler)
	users, err := d.Open(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = users.Close(ctx) })
	return users
}

// list returns the list as the service sends it.
func list(t testing.TB, d models.Database) (text string) {
	t.Helper()
	err := open(t, d).List(ctx, func(list models.List) error {
		for chunk, err := range list.Chunks {
			if err != nil {
				return err
			}
			text += string(chunk)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// file is a database file that users are copied from.
type file struct{ directory string }

func (f file) path() string { return filepath.Join(f.directory, "users.db") }

func (f file) database() models.Database {
	return models.Database{Path: f.path(), Fields: models.NewFields()}
}

// newFile returns a file that the service has made, and that another program has written to.
func newFile(t testing.TB, statements ...string) file {
	t.Helper()
	f := file{t.TempDir()}
	if err := open(t, f.database()).Close(ctx); err != nil {
		t.Fatal(err)
	}
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

// copyTo runs the command, and returns its exit code and what it says.
func (f file) copyTo(t testing.TB, url string, settings ...string) (code int, says string) {
	t.Helper()
	command := exec.Command(binary, "copy")
	command.Env = append(settings, "DATA_DIR="+f.directory, "GOCOVERDIR="+os.Getenv("GOCOVERDIR"))
	if url != "" {
		command.Env = append(command.Env, "DATABASE_URL="+url)
	}
	command.Dir = t.TempDir()
	output, err := command.CombinedOutput()
	if command.ProcessState == nil {
		t.Fatal(err)
	}
	return command.ProcessState.ExitCode(), string(output)
}

// odd are users whose texts, times and ids are hard to move.
var odd = []string{
	`INSERT INTO users (name, email) VALUES
		(char(9) || char(10) || char(13) || char(92), 'backslash\n'), ('\N', '\.'), ('', ''),
		('“é”', '🦊'), ('"', ','), (char(31), '1'), (char(127) || char(8), '2')`,
	`INSERT INTO users (id, name, email, created_at) VALUES (-5, 'a', 'a', '2024-02-29T23:59:60.5+02:00'), (0, 'zero', 'zero', ''),
		(100, 'b', 'b', '2024-02-29T23:59:59.5+02:00'), (101, 'c', 'c', '1600-01-01 00:00:00'),
		(102, 'd', 'd', '9999-12-31 23:59:59'),
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
			f, original := newFile(t, odd...), file{t.TempDir()}
			before := content(t, f.directory)
			if err := os.CopyFS(original.directory, os.DirFS(f.directory)); err != nil {
				t.Fatal(err)
			}
			code, says := f.copyTo(t, url)
			if code != 0 || !strings.Contains(says, "copied and counted: 5013 users to ") {
				t.Fatalf("the copy ended with %d, and said %s", code, says)
			}
			if after := content(t, f.directory); after != before {
				t.Error("the copy has written to the directory")
			}
			target := models.Database{URL: url, Fields: models.NewFields()}
			if got, want := list(t, target), list(t, original.database()); got != want {
				t.Errorf("the list was\n%.2000s\nand is\n%.2000s", want, got)
			}
			id, err := open(t, target).Create(ctx, models.NewUser{Name: "next", Email: "next"})
			if id != 9000000008 || err != nil {
				t.Errorf("the next user has the id %d, %v", id, err)
			}
		})
	}
}

// content returns the names and the contents of the files of a directory.
func content(t testing.TB, directory string) (text string) {
	t.Helper()
	entries, err := os.ReadDir(directory)
	for _, entry := range entries {
		var data []byte
		if data, err = os.ReadFile(filepath.Join(directory, entry.Name())); err != nil {
			break
		}
		text += entry.Name() + "\n" + string(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// What a service that was killed has left in the -wal file is copied too.
func TestACopyHasWhatAKilledServiceStored(t *testing.T) {
	t.Parallel()
	live, killed := newFile(t), file{t.TempDir()}
	if _, err := open(t, live.database()).Create(ctx, models.NewUser{Name: "n", Email: "in the -wal file"}); err != nil {
		t.Fatal(err)
	}
	for _, ending := range []string{"", "-wal"} {
		data, err := os.ReadFile(live.path() + ending)
		if err == nil {
			err = os.WriteFile(killed.path()+ending, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if code, says := killed.copyTo(t, postgresql.Shared(t).NewDatabase(t)); code != 0 || !strings.Contains(says, "copied and counted: 1 users") {
		t.Errorf("the copy ended with %d, and said %s", code, says)
	}
}

// withColumns are the statements that give users three more columns, and values of every kind.
var withColumns = []string{
	"ALTER TABLE users ADD COLUMN room TEXT", "ALTER TABLE users ADD COLUMN floor TEXT",
	"ALTER TABLE users ADD COLUMN photo TEXT",
	`INSERT INTO users (name, email, room, floor, photo) VALUES ('Ada', 'ada', '7', 2, x'00'), ('Alan', 'alan', NULL, NULL, NULL),
		('Grace', 'grace', '', 0, NULL), ('Max', 'max', '\N', 3, NULL), ('Emmy', 'emmy', char(10) || '"{}', '4a', NULL)`,
}

func TestACopyHasTheFieldsOfTheSettingAndNamesWhatItLeavesBehind(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ setting, left string }{{"", "room, floor, photo"}, {"room", "floor, photo"}, {"floor,room", "photo"}} {
		t.Run("USER_FIELDS="+test.setting, func(t *testing.T) {
			t.Parallel()
			f, url := newFile(t, withColumns...), postgresql.Shared(t).NewDatabase(t)
			code, says := f.copyTo(t, url, "USER_FIELDS="+test.setting)
			if code != 0 || !strings.Contains(says, "copied and counted: 5 users") ||
				!strings.HasSuffix(says, "left behind, because USER_FIELDS does not name them: "+test.left+"\n") {
				t.Fatalf("the copy ended with %d, and said %s", code, says)
			}
			fields := models.NewFields(strings.FieldsFunc(test.setting, func(char rune) bool { return char == ',' })...)
			want := list(t, models.Database{Path: f.path(), Fields: fields})
			if got := list(t, models.Database{URL: url, Fields: fields}); got != want {
				t.Errorf("the list was\n%s\nand is\n%s", want, got)
			}
		})
	}
}

func TestACopyOfAllColumnsLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	f := newFile(t, withColumns...)
	f.do(t, "UPDATE users SET photo = NULL")
	code, says := f.copyTo(t, postgresql.Shared(t).NewDatabase(t), "USER_FIELDS=photo,room,floor")
	if code != 0 || strings.Contains(says, "left behind") {
		t.Errorf("the copy ended with %d, and said %s", code, says)
	}
}

// made is the table of another program in PostgreSQL.
const made = "CREATE TABLE users (id serial primary key, name text, email text unique, created_at timestamptz)"

// trigger returns the statements for a trigger on that table.
func trigger(body string) []string {
	return []string{made, "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " + body + " END $$",
		"CREATE TRIGGER t BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION f()"}
}

const inFile = "INSERT INTO users (id, name, email) VALUES "

// createdAt returns the statement for a user with a time.
func createdAt(time string) []string {
	return []string{"INSERT INTO users (id, name, email, created_at) VALUES (6, 'n', '1', NULL), (7, 'n', 'secret', " + time + ")"}
}

var noTime = []string{"nothing was copied to ", "the created_at of the user with the id 7 is no time"}

// refusals are copies that cannot be made: what the file holds, what is in the database, and what the command says.
var refusals = []struct {
	name       string
	file, made []string
	says       []string
}{
	{"a table that is not empty", nil, []string{made, "INSERT INTO users VALUES (1)"}, []string{"users there has 1 users instead of 0"}},
	{"a view", nil, []string{strings.Replace(made, "users", "people", 1), "CREATE VIEW users AS SELECT * FROM people"},
		[]string{"it is not an ordinary table"}},
	{"a NUL", []string{inFile + "(1, 'n', '1'), (2, 'secret' || char(0), '2')"}, nil, []string{"nothing was copied to ", "SQLSTATE 22021"}},
	{"bytes that are no text", []string{inFile + "(1, 'secret', CAST(x'ff' AS TEXT))"}, nil, []string{"SQLSTATE 22021"}},
	{"a time that is none", createdAt("'yesterday at noon'"), nil, noTime},
	{"a time that PostgreSQL takes for that of the copy", createdAt("'now'"), nil, noTime},
	{"a time in seconds, which PostgreSQL takes for a year", createdAt("'1700010101'"), nil, noTime},
	{"a time whose day PostgreSQL takes for its month", createdAt("'01/02/2024'"), nil, noTime},
	{"a time that PostgreSQL takes for the next day", createdAt("'2024-01-01 24:00:00'"), nil, noTime},
	{"a time whose bytes are no text", createdAt("x'ff'"), nil, noTime},
	{"an id that is too high", []string{inFile + "(7, 'n', '1'), (3000000000, 'n', '2')"}, []string{made}, []string{"nothing was copied to "}},
	{"an email that is there twice", []string{"DROP TABLE users",
		"CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT, created_at)",
		"INSERT INTO users VALUES (1, 'n', 'secret', NULL), (2, 'n', 'b', NULL), (3, 'n', 'secret', NULL)"}, nil,
		[]string{"SQLSTATE 23505"}},
	{"a trigger that refuses", []string{inFile + "(1, 'n', '1')"}, trigger("RAISE 'not now';"), []string{"not now (SQLSTATE P0001)"}},
	{"a trigger that ignores", []string{inFile + "(1, 'n', '1')"}, trigger("RETURN NULL;"),
		[]string{"has 0 users instead of 1: look for triggers of users"}},
	{"ids that no sequence gives", []string{inFile + "(1, 'n', '1')"},
		[]string{"CREATE TABLE users (id bigint primary key, name text, email text unique, created_at timestamptz)"},
		[]string{"the column id of users has no sequence"}},
	{"a column that the table lacks", nil, []string{made}, []string{"the table users", "no column room"}},
	{"a file that is no database", []string{"not a database"}, nil, []string{"users.db", "is not an SQLite database"}},
	{"no file", []string{"no file"}, nil, []string{"there is no database", "set DATA_DIR"}},
}

func TestWhatCannotBeCopiedIsSaidOnOneLineAndNothingIsStored(t *testing.T) {
	t.Parallel()
	server := postgresql.Shared(t)
	for _, test := range refusals {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			url := server.NewDatabase(t)
			postgresql.SQL(t, url, test.made...)
			before, f := count(t, url), file{t.TempDir()}
			switch {
			case len(test.file) == 0 || strings.Contains(test.file[0], "users"):
				f = newFile(t, append([]string{"ALTER TABLE users ADD COLUMN room TEXT"}, test.file...)...)
			case test.file[0] != "no file":
				if err := os.WriteFile(f.path(), []byte(strings.Repeat(test.file[0], 100)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var settings []string
			if strings.Contains(test.name, "column") {
				settings = []string{"USER_FIELDS=room"}
			}
			code, says := f.copyTo(t, url, settings...)
			expectOneLine(t, code, says, test.says...)
			if after := count(t, url); after != before {
				t.Errorf("%s users were there, and %s are", before, after)
			}
		})
	}
}

// count returns how many users are there; none where there is no table yet.
func count(t testing.TB, url string) string {
	t.Helper()
	if postgresql.Ask(t, url, "SELECT (to_regclass('users') IS NULL)::text") == "true" {
		return "0"
	}
	return postgresql.Ask(t, url, "SELECT count(*)::text FROM users")
}

// expectOneLine expects that a copy has failed for a reason, said on one line after the announcement.
func expectOneLine(t *testing.T, code int, says string, want ...string) {
	t.Helper()
	if before, after, _ := strings.Cut(says, "\n"); strings.HasPrefix(before, "copying the users from ") {
		says = after
	}
	oneLine := strings.HasPrefix(says, "users-api: ") && strings.Count(says, "\n") == 1
	if code != 1 || !oneLine || strings.Contains(says, "secret") {
		t.Errorf("it ended with %d, and said %s", code, says)
	}
	for _, text := range want {
		if !strings.Contains(says, text) {
			t.Errorf("%q is not in: %s", text, says)
		}
	}
}

// The server has the users and says that it has stored them, but a standby that takes over may not have them.
func TestACopyThatNoStandbyConfirmsIsOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	f, url := newFile(t, inFile+"(1, 'n', '1')"), server.NewDatabase(t)
	postgresql.SQL(t, url, made, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
	server.Reload(t)
	var code int
	var says string
	var copying sync.WaitGroup
	copying.Go(func() { code, says = f.copyTo(t, url) })
	server.WaitUntil(t, "1", "SELECT count(pg_cancel_backend(pid))::text FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
	copying.Wait()
	expectOneLine(t, code, says, "the outcome of the copy to ", "is unknown: no standby has confirmed the commit")
	if strings.Contains(says, "nothing was copied") || count(t, url) != "1" {
		t.Errorf("%s users were copied, and it said %s", count(t, url), says)
	}
	postgresql.SQL(t, url, "ALTER SYSTEM RESET synchronous_standby_names")
	server.Reload(t)
}

func TestACopyNeedsATargetAndAFileThatHasTheFieldsAndThatNoProgramUses(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	code, says := f.copyTo(t, "")
	expectOneLine(t, code, says, "DATABASE_URL is not set", "postgres://")
	url := postgresql.Shared(t).NewDatabase(t)
	code, says = f.copyTo(t, url, "USER_FIELDS=city")
	expectOneLine(t, code, says, "the table users has no column city", "for this file, run that without DATABASE_URL")
	open(t, f.database())
	code, says = f.copyTo(t, url)
	expectOneLine(t, code, says, "the process ", " has the database ", "stop the service, and try again")
	if table := postgresql.Ask(t, url, "SELECT coalesce(to_regclass('users')::text, 'none')"); table != "none" {
		t.Error("PostgreSQL was written to before that was found out")
	}
}
