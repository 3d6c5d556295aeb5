//go:build postgres

package files

import (
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	_ "github.com/glebarez/go-sqlite" // the engine of the file

	"users-api/tests/postgresql"
	"users-api/tests/program"
)

// inFile is a setting that is none: with it [program.Serve] leaves the users in the file.
const inFile = "DATABASE_URL_OF_NOTHING=x"

// newFile returns the directory of a file that the service has made, and that another program has written to.
func newFile(t testing.TB, statements ...string) (directory string) {
	t.Helper()
	directory = t.TempDir()
	program.Serve(t, "DATA_DIR="+directory, inFile).Stop(t)
	other, err := sql.Open("sqlite", filepath.Join(directory, "users.db"))
	program.Must(t, err)
	defer other.Close() //nolint:errcheck // what it did is looked at
	for _, statement := range statements {
		if _, err := other.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	return directory
}

func copyUsers(t testing.TB, directory string, settings ...string) program.Outcome {
	t.Helper()
	return program.RunWith(t, append(settings, "DATA_DIR="+directory), nil, "copy")
}

// expectCopied copies a file to a new database, and fails the test unless the service shows the same users there. The command's
// last words are returned.
func expectCopied(t *testing.T, directory, url, users, fields string) (says string) {
	t.Helper()
	original := t.TempDir()
	program.Must(t, os.CopyFS(original, os.DirFS(directory)))
	done := copyUsers(t, directory, "DATABASE_URL="+url, "USER_FIELDS="+fields)
	if done.Code != 0 || !strings.Contains(done.Stderr, "copied and counted: "+users+" users to ") {
		t.Fatalf("the copy ended with %d, and said %s", done.Code, done.Stderr)
	}
	for _, name := range program.NamesIn(t, original) {
		want := program.ReadFile(t, filepath.Join(original, name))
		program.Expect(t, name+" after the copy", program.ReadFile(t, filepath.Join(directory, name)), want)
	}
	want := program.Serve(t, "DATA_DIR="+original, inFile, "USER_FIELDS="+fields).Do(t, "GET", "/api/users", "").Body
	program.Serve(t, "DATABASE_URL="+url, "USER_FIELDS="+fields).Do(t, "GET", "/api/users", "").Expect(t, 200, want)
	return done.Stderr
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
	through := server.Pooler(t, "default_pool_size=3").Through
	for name, url := range map[string]string{
		"to a new table": server.NewDatabase(t), "through a pooler": through(server.NewDatabase(t)),
	} {
		t.Run(name, func(t *testing.T) {
			expectCopied(t, newFile(t, odd...), url, "5013", "")
			program.Expect(t, "the id", program.Serve(t, "DATABASE_URL="+url).Create(t, "next", "next"), 9000000008)
		})
	}
}

// withColumns are the statements that give users three more columns, and values of every kind.
var withColumns = []string{
	"ALTER TABLE users ADD COLUMN room TEXT", "ALTER TABLE users ADD COLUMN floor TEXT",
	"ALTER TABLE users ADD COLUMN photo TEXT",
	`INSERT INTO users (name, email, room, floor, photo) VALUES ('Ada', 'ada', '7', 2, x'00'), ('Alan', 'alan', NULL, NULL, NULL),
		('Grace', 'grace', '', 0, NULL), ('Max', 'max', '\N', 3, NULL), ('Emmy', 'emmy', char(10) || '"{}', '4a', NULL)`,
}

func TestACopyHasTheFieldsOfTheSettingAndNamesTheOthers(t *testing.T) {
	t.Parallel()
	for setting, left := range map[string]string{
		"": "room, floor, photo", "room": "floor, photo", "floor,room": "photo", "photo,room,floor": "",
	} {
		t.Run("USER_FIELDS="+setting, func(t *testing.T) {
			t.Parallel()
			statements := withColumns
			if left == "" {
				statements = append(statements, "UPDATE users SET photo = NULL") // PostgreSQL's text has no NUL
			}
			says := expectCopied(t, newFile(t, statements...), postgresql.Shared(t).NewDatabase(t), "5", setting)
			if want := "left behind, because USER_FIELDS does not name them: " + left + "\n"; strings.Contains(says, want) != (left != "") {
				t.Errorf("it says %s, want %q", says, want)
			}
		})
	}
}

// made is the table of another program in PostgreSQL.
const made = "CREATE TABLE users (id serial primary key, name text, email text unique, created_at timestamptz)"

// trigger returns the statements for a trigger on that table.
func trigger(body string) []string {
	return []string{made, "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " + body + " END $$",
		"CREATE TRIGGER t BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION f()"}
}

const insert = "INSERT INTO users (id, name, email) VALUES "

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
	{"a table that is not empty", nil, []string{made, "INSERT INTO users VALUES (1)"}, []string{"the number of users there is 1 instead of 0"}},
	{"a view", nil, []string{strings.Replace(made, "users", "people", 1), "CREATE VIEW users AS SELECT * FROM people"},
		[]string{"it is not an ordinary table"}},
	{"a NUL", []string{insert + "(1, 'n', '1'), (2, 'secret' || char(0), '2')"}, nil, []string{"nothing was copied to ", "SQLSTATE 22021"}},
	{"a time that PostgreSQL takes for that of the copy", createdAt("'now'"), nil, noTime},
	{"a time that PostgreSQL takes for the next day", createdAt("'2024-01-01 24:00:00'"), nil, noTime},
	{"an id that is too high", []string{insert + "(7, 'n', '1'), (3000000000, 'n', '2')"}, []string{made}, []string{"nothing was copied to "}},
	{"an email that is there twice", []string{"DROP TABLE users",
		"CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT, created_at)",
		"INSERT INTO users VALUES (1, 'n', 'secret', NULL), (2, 'n', 'b', NULL), (3, 'n', 'secret', NULL)"}, nil,
		[]string{"SQLSTATE 23505"}},
	{"a trigger that refuses", []string{insert + "(1, 'n', '1')"}, trigger("RAISE 'not now';"), []string{"not now (SQLSTATE P0001)"}},
	{"a trigger that ignores", []string{insert + "(1, 'n', '1')"}, trigger("RETURN NULL;"),
		[]string{"the number of users there is 0 instead of 1: look for triggers of users"}},
	{"a file that is no database", []string{"not a database"}, nil, []string{"users.db", "is not an SQLite database"}},
	{"no file", []string{"no file"}, nil, []string{"there is no database", "set DATA_DIR"}},
}

func TestWhatCannotBeCopiedIsSaidOnOneLineAndNothingIsStored(t *testing.T) {
	t.Parallel()
	server := postgresql.Shared(t)
	for _, test := range refusals {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			url, directory := server.NewDatabase(t), t.TempDir()
			postgresql.SQL(t, url, test.made...)
			before := count(t, url)
			switch {
			case len(test.file) == 0 || strings.Contains(test.file[0], "users"):
				directory = newFile(t, test.file...)
			case test.file[0] != "no file":
				program.WriteFile(t, filepath.Join(directory, "users.db"), strings.Repeat(test.file[0], 100))
			}
			expectNotCopied(t, copyUsers(t, directory, "DATABASE_URL="+url), test.says...)
			program.Expect(t, "how many users are there", count(t, url), before)
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

// expectNotCopied expects that a copy has failed for a reason, said on one line after the announcement, if there is one.
func expectNotCopied(t *testing.T, done program.Outcome, says ...string) {
	t.Helper()
	if before, after, _ := strings.Cut(done.Stderr, "\n"); strings.HasPrefix(before, "copying the users from ") {
		done.Stderr = after
	}
	done.ExpectMistake(t, says...)
	program.Forbid(t, done.Stderr, "secret")
}

// The server has the users and says that it has stored them, but a standby that takes over may not have them.
func TestACopyThatNoStandbyConfirmsIsOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	directory, url := newFile(t, insert+"(1, 'n', '1')"), server.NewDatabase(t)
	postgresql.SQL(t, url, made, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
	server.Reload(t)
	var done program.Outcome
	var copying sync.WaitGroup
	copying.Go(func() { done = copyUsers(t, directory, "DATABASE_URL="+url) })
	server.WaitUntil(t, "1", "SELECT count(pg_cancel_backend(pid))::text FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
	copying.Wait()
	expectNotCopied(t, done, "the outcome of the copy to ", "is unknown: no standby has confirmed the commit")
	program.Forbid(t, done.Stderr, "nothing was copied")
	program.Expect(t, "how many users were copied", count(t, url), 1)
	postgresql.SQL(t, url, "ALTER SYSTEM RESET synchronous_standby_names")
	server.Reload(t)
}

func TestACopyNeedsATargetAndAFileThatNoProgramUses(t *testing.T) {
	t.Parallel()
	directory, url := newFile(t), postgresql.Shared(t).NewDatabase(t)
	expectNotCopied(t, copyUsers(t, directory), "DATABASE_URL is not set", "postgres://")
	expectNotCopied(t, copyUsers(t, directory, "DATABASE_URL="+url, "USER_FIELDS=city"),
		"the table users has no column city", "for this file, run that without DATABASE_URL")
	using := program.Serve(t, "DATA_DIR="+directory, inFile)
	using.Create(t, "n", "in the -wal file")
	expectNotCopied(t, copyUsers(t, directory, "DATABASE_URL="+url), "the process ", " has the database ", "stop the service, and try again")
	program.Expect(t, "the table", postgresql.Ask(t, url, "SELECT coalesce(to_regclass('users')::text, '-')"), "-")
	using.Kill(t)
	done := copyUsers(t, directory, "DATABASE_URL="+url)
	program.Expect(t, "the copy after a kill", done, program.Outcome{Stderr: "…: 1 user to …"})
}

// The documented commands take a URL with parameters that only the service knows, and restore while it runs: the table is
// another one then, with the users of the backup.
func TestTheDocumentedBackupIsRestored(t *testing.T) {
	t.Parallel()
	document := program.ReadFile(t, "../../docs/postgresql.md")
	shown := regexp.MustCompile("(?s)```shell\n(url=.*?)```.*?```shell\n(pg_restore .*?)```").FindStringSubmatch(document)
	if shown == nil {
		t.Fatal("docs/postgresql.md has no commands for a backup")
	}
	url := postgresql.Start(t).NewDatabase(t) + "?pool_max_conns=5&sslmode=disable&pool_max_conn_lifetime=1h"
	p := program.Serve(t, "DATABASE_URL="+url)
	p.Create(t, "Ada", "ada@example.org")
	before := p.Do(t, "GET", "/api/users", "").Body
	shell := exec.Command("sh", "-ec", shown[1]+shown[2])
	shell.Dir, shell.Env = t.TempDir(), append(os.Environ(), "DATABASE_URL="+url)
	if output, err := shell.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	p.Do(t, "GET", "/api/users", "").Expect(t, 200, before)
	program.Expect(t, "the next id, as when the backup was made", p.Create(t, "Alan", "alan@example.org"), 2)
}

// The triggers leave what is copied as it is, and give its time to what is written from then on.
func TestACopyKeepsTheTimesOfTheLastChanges(t *testing.T) {
	t.Parallel()
	directory := newFile(t,
		"INSERT INTO users (name, email, created_at) VALUES ('Ada', 'ada', '2024-02-29 12:00:00'), ('Alan', 'alan', NULL)")
	program.RunWith(t, []string{"DATA_DIR=" + directory}, nil, "add-field", "updated_at").MustSucceed(t)
	url := postgresql.Start(t).NewDatabase(t)
	expectCopied(t, directory, url, "2", "updated_at")
	p := program.Serve(t, "DATABASE_URL="+url, "USER_FIELDS=updated_at")
	p.Do(t, "GET", "/api/users", "").Expect(t, 200, `[{"id":1,…"updated_at":"2024-02-29 12:00:00"},{"id":2,…"updated_at":""}]`)
	postgresql.SQL(t, url, "UPDATE users SET name = name || '!'")
	p.Do(t, "GET", "/api/users?updated_from=2025-01-01", "").Expect(t, 200, `[{"id":1,…},{"id":2,…}]`)

	odd := newFile(t, "ALTER TABLE users ADD COLUMN updated_at TEXT",
		"INSERT INTO users (name, email, updated_at) VALUES ('Ada', 'ada', 'soon')")
	done := copyUsers(t, odd, "DATABASE_URL="+postgresql.Start(t).NewDatabase(t), "USER_FIELDS=updated_at")
	expectNotCopied(t, done, "the updated_at of the user with the id 1 is no time: in the file, set it to one")
}
