//go:build postgres

package commands

import (
	"os"
	"strings"
	"testing"

	"users-api/tests/postgresql"
)

// made is the table of another program in PostgreSQL.
const made = "CREATE TABLE users (id serial primary key, name text, email text unique, created_at timestamptz)"

// trigger returns the statements for a trigger on that table.
func trigger(body string) []string {
	return []string{made, "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " + body + " END $$",
		"CREATE TRIGGER t BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION f()"}
}

const inFile = "INSERT INTO users (id, name, email) VALUES "

// refusals are copies that cannot be made: what the file holds, what is in the database, and what the command says.
var refusals = []struct {
	name       string
	file, made []string
	says       []string
}{
	{"a table that is not empty", nil, []string{made, "INSERT INTO users VALUES (1)"},
		[]string{"users in ", " is not empty"}},
	{"a view", nil, []string{strings.Replace(made, "users", "people", 1),
		"CREATE VIEW users AS SELECT * FROM people"},
		[]string{"cannot use the PostgreSQL database at ", "users is a view and not a table"}},
	{"a NUL, and bytes that are no text", []string{inFile + "(1, 'secret', '1'), (2, 'secret' || char(0), '2')," +
		"(3, 'n', '3'), (4, CAST(x'ff' AS TEXT), '4'), (5, char(0), '5')"}, nil,
		[]string{"nothing was copied: PostgreSQL does not take 3 users; ", "0x00 (SQLSTATE 22021): those with the ids 2, 5; ",
			"0xff (SQLSTATE 22021): those with the ids 4"}},
	{"more than can be told", []string{"WITH RECURSIVE n (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM n WHERE n < 150) " +
		inFile[:len(inFile)-len("VALUES ")] + "SELECT n, char(0), n FROM n"}, nil,
		[]string{"PostgreSQL does not take 100 users or more; ", ", 99, 100\n"}},
	{"times that are none", []string{"INSERT INTO users (name, email, created_at) VALUES ('n', '1', 'yesterday')," +
		"('n', '2', '2024-02-30 00:00:00'), ('n', '3', '2024-02-28')"}, nil,
		[]string{"the time of creation is no time: those with the ids 1, 2\n"}},
	{"ids that are too high", []string{inFile + "(7, 'n', '1'), (3000000000, 'n', '2'), (3000000001, 'n', '3')"},
		[]string{made}, []string{"integer out of range", "the ids 3000000000, 3000000001\n"}},
	{"emails that are there twice", []string{"DROP TABLE users",
		"CREATE TABLE users (id INTEGER PRIMARY KEY, name, email, created_at)",
		"INSERT INTO users VALUES (1, 'n', 'secret', ''), (2, 'n', 'b', ''), (3, 'n', 'secret', '')"}, nil,
		[]string{"duplicate key value", "does not take 1 users", "the ids 3\n"}},
	{"a rule that tells secrets", []string{inFile + "(1, 'n', 'secret')"}, trigger("RAISE 'not %', new.email;"),
		[]string{"(SQLSTATE P0001): those with the ids 1\n"}},
	{"a rule that tells secrets in PostgreSQL's name", []string{inFile + "(1, 'n', 'secret')"},
		trigger("RAISE check_violation USING message = 'not ' || new.email;"), []string{"(SQLSTATE 23514): those with the ids 1\n"}},
	{"a trigger that changes names", []string{inFile + "(1, 'n', '1')"}, trigger("new.name := 'N'; RETURN new;"),
		[]string{"the two lists are not the same"}},
	{"ids that no sequence gives", []string{inFile + "(1, 'n', '1')"},
		[]string{"CREATE TABLE users (id bigint primary key, name text, email text unique, created_at timestamptz)"},
		[]string{"the column id of users has no sequence"}},
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
			postgresql.SQL(t, url, test.made...)
			before := count(t, url)
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

func expectOneLine(t *testing.T, code int, says string, want ...string) {
	t.Helper()
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

func TestACopyNeedsATargetAndAFileThatNoProgramUses(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	code, says := runCopy(t, "DATA_DIR="+f.directory)
	expectOneLine(t, code, says, "DATABASE_URL is not set", "postgres://")
	closeFile := f.open(t)
	defer closeFile()
	url := postgresql.Shared(t).NewDatabase(t)
	code, says = f.copyTo(t, url)
	expectOneLine(t, code, says, "the process ", " has the database ", "stop the service, and try again")
	if table := postgresql.Ask(t, url, "SELECT coalesce(to_regclass('users')::text, 'none')"); table != "none" {
		t.Error("PostgreSQL was written to before that was found out")
	}
}
