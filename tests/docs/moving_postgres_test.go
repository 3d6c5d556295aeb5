//go:build postgres

package docs

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	_ "github.com/glebarez/go-sqlite" // the engine of the file

	"users-api/tests/postgresql"
	"users-api/tests/program"
)

// inFile is a setting that is none: with it [program.Serve] leaves the users in the file.
const inFile = "DATABASE_URL_OF_NOTHING=x"

// newFile returns the path of a file that the service has made with some fields, and that another program has written to.
func newFile(t testing.TB, fields string, statements ...string) (path string) {
	t.Helper()
	directory := t.TempDir()
	path = filepath.Join(directory, "users.db")
	program.Serve(t, "DATA_DIR="+directory, inFile, "USER_FIELDS="+fields).Stop(t)
	other, err := sql.Open("sqlite", path)
	program.Must(t, err)
	defer other.Close() //nolint:errcheck // what it did is looked at
	for _, statement := range statements {
		if _, err := other.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	return path
}

// newTable returns the URL of a database in which the service has made its table.
func newTable(t testing.TB, fields string) (url string) {
	t.Helper()
	url = postgresql.Shared(t).NewDatabase(t)
	program.Serve(t, "DATABASE_URL="+url, "USER_FIELDS="+fields).Stop(t)
	return url
}

// move pastes the recipe for moving from a file to a database.
func move(t *testing.T, shell, path, url string) pasted {
	t.Helper()
	needTools(t, strings.Fields(shell)[0], "sqlite3", "psql")
	_, text, _ := strings.Cut(program.ReadFile(t, "../../docs/postgresql.md"), "\n## Moving from the file\n")
	shown := regexp.MustCompile("(?s)```shell\n(file=)\\S+(\n.*?)```.*?```sh\n(.*?)```").FindStringSubmatch(text)
	if shown == nil {
		t.Fatal("docs/postgresql.md has no recipe for moving from the file")
	}
	done := paste(t, shell, &program.Program{URL: "http://localhost:3000"}, t.TempDir(), fmt.Sprintf("DATABASE_URL='%s'\n", url), shown[1]+path+shown[2], shown[3])
	return done[2]
}

// odd are users whose texts, times and ids are hard to move.
var odd = []string{
	`INSERT INTO users (name, email, room) VALUES (char(9) || char(10) || char(13) || char(92), 'backslash\n', NULL),
		('\N', '\.', ''), ('', '', '7'), ('“é”', '🦊', '\N'), ('"', ',', 'a,"b"'), (char(31), '1', char(10) || '\.' || char(10)),
		(char(127) || char(8), '2', '],'), ('{"id":7', '{"users":1}', 'null'), ('$$', '''', ' ')`,
	`INSERT INTO users (id, name, email, created_at) VALUES (-5, 'a', 'a', NULL), (0, 'zero', 'zero', ''),
		(100, 'b', 'b', '2024-02-29T23:59:59.9+02:00'), (101, 'c', 'c', '1600-01-01 00:00:00'),
		(102, 'd', 'd', '9999-12-31T23:59:59Z'), (103, 'e', 'e', NULL), (104, 'f', 'f', '2024-01-01'),
		(105, 'g', 'g', '2024-01-01 10:00'), (9000000000, 'h', 'h', '2024-01-01 00:00:00'), (9000000007, 'last', 'last', NULL)`,
	"DELETE FROM users WHERE name = 'last'",
	`WITH RECURSIVE n (i) AS (SELECT 1 UNION SELECT i + 1 FROM n WHERE i < 5000)
		INSERT INTO users (id, name, email) SELECT 1000 + i, 'User ' || i, 'user' || i FROM n`,
	"UPDATE users SET updated_at = '2024-02-29 12:00:00' WHERE id % 2 = 0", "UPDATE users SET updated_at = NULL WHERE id % 3 = 0",
}

// The service shows the same users there, and the file is as it was.
func TestMovingFromTheFileKeepsEveryUser(t *testing.T) {
	t.Parallel()
	const fields = "USER_FIELDS=room,updated_at"
	eachShell(t, func(t *testing.T, shell string) {
		path, url := newFile(t, "room,updated_at", odd...), newTable(t, "room,updated_at")
		before := program.ReadFile(t, path)
		done := move(t, shell, path, url+"?pool_max_conns=5&sslmode=disable")
		program.Expect(t, "what it prints", done.stdout+done.code, "5018 users are in PostgreSQL\n0")
		if program.ReadFile(t, path) != before {
			t.Error("the file has changed")
		}
		program.ExpectNames(t, filepath.Dir(path), "users.db")
		file, moved := program.Serve(t, "DATA_DIR="+filepath.Dir(path), inFile, fields), program.Serve(t, "DATABASE_URL="+url, fields)
		moved.Do(t, "GET", "/api/users", "").Expect(t, 200, file.Do(t, "GET", "/api/users", "").Body)
		program.Expect(t, "the next id", moved.Create(t, "next", "next"), 9000000008)
	})
}

const insert = "INSERT INTO users (id, name, email, created_at) VALUES (6, 'n', '1', NULL), "

// Each says why on one line of psql's, without a value of a user, and leaves nothing behind.
func TestMovingWhatCannotBeMovedSaysWhyAndMovesNobody(t *testing.T) {
	t.Parallel()
	const noTime = "the user with the id 7: created_at is no time: set it to one"
	createdAt := func(text string) string { return insert + "(7, 'n', 'secret', " + text + ")" }
	trigger := func(body string) string {
		return "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " + body + " END $$; " +
			"CREATE TRIGGER t BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION f()"
	}
	for name, c := range map[string]struct{ file, table, says string }{
		"a table that is not empty":      {"", "INSERT INTO users (name, email) VALUES ('n', '2')", "PostgreSQL has users already"},
		"no table":                       {"", "DROP TABLE users", `relation "users" does not exist`},
		"a column that is missing there": {"ALTER TABLE users ADD COLUMN photo TEXT; " + createdAt("NULL"), "", "does not have what the file has: photo"},
		"a NUL":                          {insert + "(7, 'secret' || char(0), '2', NULL)", "", "the user with the id 7: unsupported Unicode"},
		"a word that PostgreSQL knows":   {createdAt("'now'"), "", noTime},
		"a day that does not exist":      {createdAt("'2024-02-30 00:00:00'"), "", "the user with the id 7: date/time field value out of range"},
		"an id that is too high":         {insert + "(3000000000, 'n', '2', NULL)", "ALTER TABLE users ALTER id TYPE integer", "with the id 3000000000: "},
		"an email that is there twice": {insert + "(7, 'n', 'SECRET', NULL), (8, 'n', 'secret', NULL)",
			"CREATE UNIQUE INDEX ON users (lower(email))", "the user with the id 8: duplicate key value violates unique constraint"},
		"a trigger that refuses": {createdAt("NULL"), trigger("RAISE 'not now';"), "the user with the id 6: not now"},
		"a trigger that ignores": {createdAt("NULL"), trigger("RETURN NULL;"), "has not taken every user: look for triggers"},
		"a BLOB":                 {insert + "(7, 'n', x'00', NULL)", "", "sqlite3 did not read the file to its end"},
		"no file":                {"no file", "", "sqlite3 did not read the file to its end"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, url := filepath.Join(t.TempDir(), "users.db"), newTable(t, "")
			if c.file == "" {
				c.file = createdAt("NULL")
			}
			if c.file != "no file" {
				path = newFile(t, "", c.file)
			}
			if c.table != "" {
				postgresql.SQL(t, url, c.table)
			}
			count := func() string {
				if c.table == "DROP TABLE users" {
					return "no table"
				}
				return postgresql.Ask(t, url, "SELECT count(*)::text FROM users")
			}
			before := count()
			expectNothingMoved(t, move(t, "dash", path, url), c.says)
			program.Expect(t, "how many users are there", count(), before)
			if c.file == "no file" {
				program.ExpectNames(t, filepath.Dir(path))
			}
		})
	}
}

func expectNothingMoved(t *testing.T, done pasted, says string) {
	t.Helper()
	if done.code == "0" || done.stdout != "" || !strings.Contains(done.stderr, "ERROR:  ") || !strings.Contains(done.stderr, says) {
		t.Errorf("it ends with %s, prints %q and says %s, want %s", done.code, done.stdout, done.stderr, says)
	}
	program.Forbid(t, strings.ToLower(done.stderr), "secret")
}

// A service that runs on the file may store more users. What a killed one has left is read, the -wal file, too.
func TestMovingFromAFileThatAServiceUsesSaysSo(t *testing.T) {
	t.Parallel()
	directory, url := t.TempDir(), newTable(t, "")
	using := program.Serve(t, "DATA_DIR="+directory, inFile)
	using.Create(t, "Ada", "in the -wal file")
	done := move(t, "dash", using.DatabasePath(), url)
	expectNothingMoved(t, done, "is the service stopped?")
	program.Expect(t, "what sqlite3 says", done.stderr, "…database is locked…")
	using.Create(t, "Alan", "goes on")
	using.Kill(t)
	done = move(t, "dash", using.DatabasePath(), url)
	program.Expect(t, "what it prints after a kill", done.stdout+done.code, "2 users are in PostgreSQL\n0")
}

// A table of another program may have no AUTOINCREMENT: nobody knows then which ids were given.
func TestMovingATableWithoutASequenceGoesOnBehindItsHighestID(t *testing.T) {
	t.Parallel()
	path, url := newFile(t, "", "DROP TABLE users", "CREATE TABLE other (id INTEGER PRIMARY KEY)",
		"CREATE TABLE USERS (id INTEGER PRIMARY KEY, name TEXT, email TEXT UNIQUE, created_at DATETIME)",
		"INSERT INTO users VALUES (7, 'Ada', 'ada', '2024-02-29 12:00:00')"), newTable(t, "")
	program.Expect(t, "what it prints", move(t, "dash", path, url).stdout, "1 users are in PostgreSQL\n")
	moved := program.Serve(t, "DATABASE_URL="+url)
	moved.ExpectUsers(t, "Ada")
	program.Expect(t, "the next id", moved.Create(t, "next", "next"), 8)
}
