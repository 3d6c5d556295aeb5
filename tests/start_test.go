package tests

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"users-api/tests/program"
)

func TestTheFirstRunSaysWhereEverythingIs(t *testing.T) {
	t.Parallel()
	directory := filepath.Join(t.TempDir(), "not", "there yet")
	p := start(t, "DATA_DIR="+directory, "NODE_ENV=development")
	for _, text := range []string{"address=http://localhost:", filepath.Join(directory, "users.db"), "node_env=development"} {
		p.WaitForLog(t, text)
	}
	if users := p.Do(t, "GET", "/api/users", ""); users.Body != "[]" {
		t.Errorf("a fresh list is %s", users.Body)
	}
}

func TestANodeEnvThatIsNotSetIsNotLogged(t *testing.T) {
	t.Parallel()
	forbid(t, start(t).Log(), "node_env")
}

func TestADataDirectoryMayHaveAnyName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"with space", "what?", "#1", "100%41", "ünïcode", "a&b=c", "_pragma=x"} {
		directory := filepath.Join(t.TempDir(), name)
		p := start(t, "DATA_DIR="+directory)
		p.Create(t, "Ada", "ada@example.org")
		if _, err := os.Stat(filepath.Join(directory, "users.db")); err != nil {
			t.Errorf("the users are elsewhere: %v", err)
		}
	}
}

func TestSeveralProcessesStartAtOnceOnAnEmptyDirectory(t *testing.T) {
	t.Parallel()
	directory := filepath.Join(t.TempDir(), "data")
	var all []*program.Program
	for range 4 {
		all = append(all, program.Launch(t, binary, "DATA_DIR="+directory))
	}
	for i, p := range all {
		p.WaitForAddress(t)
		p.Create(t, "User", fmt.Sprintf("%d@example.org", i))
	}
	for _, p := range all {
		if users := p.List(t); len(users) != 4 {
			t.Errorf("one of the processes lists %d users of 4", len(users))
		}
	}
	for _, p := range all {
		p.Stop(t)
	}
}

// The schemas of other programs, each with a row that was deleted: its id must not be used again where the schema
// promises that.
var foreignSchemas = map[string]string{
	"as the Node service had it": `CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, email TEXT UNIQUE NOT NULL, created_at DATETIME DEFAULT CURRENT_TIMESTAMP)`,
	"in another letter case":     `CREATE TABLE "Users" (Id INTEGER PRIMARY KEY AUTOINCREMENT, Name TEXT, Email TEXT UNIQUE, Created_At DATETIME)`,
	"with comments":              "CREATE TABLE users (\n id INTEGER PRIMARY KEY AUTOINCREMENT, -- the id, /* really */\n name VARCHAR(20) NOT NULL, email VARCHAR(99), created_at TIMESTAMP, /* once */ UNIQUE (email))",
	"with extra columns":         `CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, phone TEXT DEFAULT '-', email TEXT UNIQUE, created_at TEXT, updated_at TEXT DEFAULT CURRENT_TIMESTAMP, deleted_at TEXT)`,
}

func TestADatabaseOfAnotherProgramIsServedAndLeftAsItWas(t *testing.T) {
	t.Parallel()
	for name, schema := range foreignSchemas {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			other := program.OpenOther(t, filepath.Join(directory, "users.db"))
			other.Do(schema, "CREATE INDEX by_name ON users (name)", "CREATE TABLE audit (what TEXT)",
				"CREATE TRIGGER note AFTER INSERT ON users BEGIN INSERT INTO audit VALUES (new.email); END",
				"INSERT INTO users (name, email) VALUES ('A', 'a@b'), ('B', 'b@b'), ('C', 'c@b')", "DELETE FROM users WHERE id = 3")
			before := other.Ask("SELECT group_concat(type || name || sql, char(10)) FROM sqlite_master")

			p := start(t, "DATA_DIR="+directory)
			if id := p.Create(t, "D", "d@b"); id != 4 {
				t.Errorf("the new user has the id %d; 3 was used before", id)
			}
			if users := p.List(t); len(users) != 3 || users[0].Name != "A" || users[2].Email != "d@b" {
				t.Errorf("the list is %v", users)
			}
			if created := p.List(t)[2].CreatedAt; !isTime(created) {
				t.Errorf("the new user was created at %q", created)
			}
			p.Stop(t)
			if after := other.Ask("SELECT group_concat(type || name || sql, char(10)) FROM sqlite_master"); after != before {
				t.Errorf("the schema was\n%s\nand is\n%s", before, after)
			}
			if audited := other.Ask("SELECT count(*) FROM audit WHERE what = 'd@b'"); audited != "1" {
				t.Errorf("the trigger ran %s times", audited)
			}
		})
	}
}

func TestAViewNamedUsersIsListed(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	program.OpenOther(t, filepath.Join(directory, "users.db")).Do(
		"CREATE TABLE people (no INTEGER PRIMARY KEY, name TEXT, mail TEXT)", "INSERT INTO people VALUES (7, 'A', 'a@b')",
		"CREATE VIEW users AS SELECT no AS id, name, mail AS email, NULL AS created_at FROM people")
	p := start(t, "DATA_DIR="+directory)
	if list := p.Do(t, "GET", "/api/users", "").Body; list != `[{"id":7,"name":"A","email":"a@b","created_at":""}]` {
		t.Errorf("the list is %s", list)
	}
}

// A start that cannot work: what is done to the directory before, the settings, and what the one line must say.
type badStart struct {
	name     string
	prepare  func(t *testing.T, directory string)
	settings []string
	says     []string
}

func occupiedPort(t *testing.T) string {
	listener, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return fmt.Sprint(listener.Addr().(*net.TCPAddr).Port)
}

func TestAStartThatCannotWorkEndsWithOneHelpfulLine(t *testing.T) {
	t.Parallel()
	port := occupiedPort(t)
	write := func(text string) func(*testing.T, string) {
		return func(t *testing.T, directory string) { writeFile(t, filepath.Join(directory, "users.db"), text) }
	}
	for _, bad := range []badStart{
		{name: "a port of letters", settings: []string{"PORT=abc"}, says: []string{"PORT", "abc", "65535"}},
		{name: "a port out of range", settings: []string{"PORT=65536"}, says: []string{"PORT", "65536"}},
		{name: "a port that is taken", settings: []string{"PORT=" + port}, says: []string{port, "address already in use", "set PORT"}},
		{name: "a level that is none", settings: []string{"LOG_LEVEL=loud"}, says: []string{"LOG_LEVEL", "loud"}},
		{name: "a file that is no database", prepare: write(strings.Repeat("not a database ", 999)), says: []string{"users.db", "not an SQLite database", "DATA_DIR"}},
		{name: "a directory where the file should be", says: []string{"users.db is a directory"}, prepare: func(t *testing.T, directory string) {
			if err := os.Mkdir(filepath.Join(directory, "users.db"), 0o755); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "a file where the directory should be", settings: []string{"DATA_DIR=/dev/null"}, says: []string{"/dev/null", "directory"}},
		{name: "a directory that cannot be made", settings: []string{"DATA_DIR=/proc/none"}, says: []string{"/proc/none", "DATA_DIR"}},
	} {
		t.Run(bad.name, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			if bad.prepare != nil {
				bad.prepare(t, directory)
			}
			p := program.Launch(t, binary, append([]string{"DATA_DIR=" + directory}, bad.settings...)...)
			expectRefusal(t, p, bad.says...)
		})
	}
}

// expectRefusal waits for the program to end with exit code 1 and one line that says everything it must.
func expectRefusal(t *testing.T, p *program.Program, says ...string) {
	t.Helper()
	if code := p.Wait(t); code != 1 {
		t.Errorf("it ended with exit code %d", code)
	}
	if lines := strings.Count(p.Log(), "\n"); lines != 1 {
		t.Errorf("it said %d lines", lines)
	}
	for _, text := range says {
		if !strings.Contains(p.Log(), text) {
			t.Errorf("%q is not in: %s", text, p.Log())
		}
	}
	forbid(t, p.Log(), "goroutine", "panic", "out of memory")
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
