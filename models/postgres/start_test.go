//go:build postgres

package postgres

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"users-api/models/storetest"
	"users-api/tests/postgresql"
)

// edited returns a URL with another part.
func edited(t testing.TB, text string, edit func(*url.URL)) string {
	t.Helper()
	place, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	edit(place)
	return place.String()
}

// expectLine expects an error that fits a line, says what it should, and holds no password.
func expectLine(t *testing.T, err error, says ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("it starts")
	}
	for _, text := range says {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q is not in: %v", text, err)
		}
	}
	expectNoPassword(t, err.Error())
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("there is more than a line: %v", err)
	}
}

// expectNoPassword expects none of the passwords of these tests, written in any way.
func expectNoPassword(t *testing.T, text string) {
	t.Helper()
	for _, password := range []string{postgresql.Password, url.QueryEscape(postgresql.Password), "word@", "%23the", "wrong", "poorly"} {
		if strings.Contains(text, password) {
			t.Errorf("%q is in: %s", password, text)
		}
	}
}

func TestAStartThatCannotWorkSaysWhatToDo(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t, postgresql.Scram)
	good := server.NewDatabase(t)
	where := fmt.Sprintf("127.0.0.1:%d", server.Port)
	postgresql.SQL(t, good, "CREATE ROLE poor LOGIN PASSWORD 'poorly'", "CREATE ROLE reader LOGIN PASSWORD 'poorly'",
		"CREATE TABLE users (id int PRIMARY KEY, name text, email text UNIQUE, created_at timestamp)",
		"GRANT SELECT (id, name, email, created_at), INSERT, UPDATE, DELETE ON users TO reader")
	empty := server.NewDatabase(t)
	as := func(user, password string) func(*url.URL) {
		return func(place *url.URL) { place.User = url.UserPassword(user, password) }
	}
	for name, test := range map[string]struct {
		url  string
		says []string
	}{
		"a wrong password": {edited(t, good, as("postgres", "wrong")),
			[]string{where, `user "postgres"`, "password authentication failed", "check the user and the password"}},
		"no such role": {edited(t, good, as("nobody", "wrong")), []string{`user "nobody"`, "check the user and the password"}},
		"no such database": {edited(t, good, func(place *url.URL) { place.Path = "/missing" }),
			[]string{where, `database "missing"`, "does not exist", "createdb -O postgres missing"}},
		"no right to create": {edited(t, empty, as("poor", "poorly")),
			[]string{"permission denied for schema public", "GRANT USAGE, CREATE ON SCHEMA public TO poor"}},
		"no rights to the table": {edited(t, good, as("poor", "poorly")),
			[]string{"permission denied for users: SELECT, INSERT, UPDATE, DELETE",
				"GRANT SELECT, INSERT, UPDATE, DELETE ON users TO poor"}},
		"the right to read some columns": {edited(t, good, as("reader", "poorly")), []string{"permission denied for users: SELECT:"}},
		"TLS that the server has not":    {good + "?sslmode=require", []string{where, "server refused TLS connection"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			_, err := Open(ctx, test.url, storetest.Fields(), 0, quiet)
			expectLine(t, err, test.says...)
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("it took %s to say so", took)
			}
		})
	}
}

const plainColumns = "CREATE TABLE users (id int, name text, email text, created_at text"

func TestATableThatCannotBeServedSaysWhy(t *testing.T) {
	t.Parallel()
	server := postgresql.Shared(t)
	for name, test := range map[string]struct {
		schema string
		says   []string
	}{
		"ids that are no numbers": {"CREATE TABLE users (id uuid PRIMARY KEY, name text, email text, created_at text)",
			[]string{"of type uuid", "smallint, integer or bigint"}},
		"ids that are no whole numbers": {"CREATE TABLE users (id numeric PRIMARY KEY, name text, email text, created_at text)",
			[]string{"of type numeric"}},
		"no primary key": {plainColumns + ")", []string{"id is not the primary key"}},
		"a primary key of two columns": {plainColumns + ", PRIMARY KEY (id, email))",
			[]string{"id is not the primary key"}},
		"missing columns": {"CREATE TABLE users (id int, username text)", []string{"no column name, email, created_at"}},
		"a sequence":      {"CREATE SEQUENCE users", []string{"users is a sequence"}},
		"a view":          {"CREATE VIEW users AS SELECT 1 AS id, 'n' AS name, 'e' AS email, now() AS created_at", []string{"users is a view"}},
		"a materialized view": {"CREATE MATERIALIZED VIEW users AS SELECT 1 AS id, 'n' AS name, 'e' AS email, now() AS created_at",
			[]string{"users is a materialized view"}},
		"a foreign table": {"CREATE EXTENSION postgres_fdw; CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw;" +
			"CREATE FOREIGN TABLE users (id int, name text, email text, created_at text) SERVER far", []string{"users is a foreign table"}},
		"a rule": {plainColumns + ", PRIMARY KEY (id)); CREATE RULE notes AS ON INSERT TO users DO ALSO NOTHING",
			[]string{`users has the rule "notes"`}},
		"heirs": {plainColumns + ", PRIMARY KEY (id)); CREATE TABLE staff () INHERITS (users)", []string{"other tables inherit"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := server.NewDatabase(t)
			postgresql.SQL(t, url, test.schema)
			_, err := Open(ctx, url, storetest.Fields(), 0, quiet)
			expectLine(t, err, append(test.says, `user "postgres"`)...)
		})
	}
}

// buffer is a log that two goroutines use.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(text)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func TestAServerThatIsNotThereYetIsWaitedFor(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	url := server.NewDatabase(t)
	server.Stop(t)
	var log buffer
	opened := make(chan *Users)
	go func() {
		users, err := Open(ctx, url, storetest.Fields(), 0, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Error(err)
		}
		opened <- users
	}()
	for !strings.Contains(log.String(), "waiting for PostgreSQL") {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(3 * pause) // tries that are not in the log
	server.StartAgain(t)
	users := <-opened
	defer func() { _ = users.Close(ctx) }()
	storetest.Create(t, users, "ada@example.org")
	expectNoPassword(t, log.String())
	if strings.Count(log.String(), "waiting for PostgreSQL") > 1 || !strings.Contains(log.String(), "connection refused") {
		t.Errorf("the log says %s", log.String())
	}
}

func TestAStopEndsTheWaitForAServer(t *testing.T) {
	t.Parallel()
	stop, cancel := context.WithCancel(ctx)
	log := stopAt{cancel}
	start := time.Now()
	_, err := Open(stop, "postgres://u:wrong@127.0.0.1:1/d", storetest.Fields(), 0, slog.New(slog.NewTextHandler(log, nil)))
	expectLine(t, err, "stopped while waiting", "127.0.0.1:1")
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("it took %s", took)
	}
}

// stopAt is a log that calls a function at its first line.
type stopAt struct{ stop func() }

func (s stopAt) Write(text []byte) (int, error) {
	s.stop()
	return len(text), nil
}

func TestWhatDurabilityRestsOnIsWarnedOf(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t, "fsync=off", "full_page_writes=off")
	url := server.NewDatabase(t)
	postgresql.SQL(t, url, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
	server.Reload(t)
	const table = "TABLE users (id int PRIMARY KEY, name text, email text UNIQUE, created_at timestamptz)"
	for commit, cause := range map[string]string{
		"off": "synchronous_commit is off", "local": "synchronous_commit is local, and there is a synchronous standby",
	} {
		postgresql.SQL(t, url, "SET synchronous_commit = local", "ALTER ROLE postgres SET synchronous_commit = "+commit,
			"DROP TABLE IF EXISTS users", "CREATE UNLOGGED "+table)
		expectWarnings(t, url, cause, "fsync is off", "full_page_writes is off", "UNLOGGED")
	}
	postgresql.SQL(t, url, "ALTER SYSTEM RESET synchronous_standby_names")
	server.Reload(t)
}

// A database that is as it should be is not warned of.
func TestNothingIsWarnedOfWithoutNeed(t *testing.T) {
	t.Parallel()
	expectWarnings(t, postgresql.Start(t).NewDatabase(t))
}

// expectWarnings expects a start with a warning of each cause, and no other.
func expectWarnings(t *testing.T, url string, causes ...string) {
	t.Helper()
	var log buffer
	users, err := Open(ctx, url, storetest.Fields(), 0, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = users.Close(ctx) }()
	for _, cause := range causes {
		if !strings.Contains(log.String(), cause) {
			t.Errorf("%s is not warned of: %s", cause, log.String())
		}
	}
	if n := strings.Count(log.String(), "level=WARN"); n != len(causes) {
		t.Errorf("there are %d warnings: %s", n, log.String())
	}
}

// A database that cannot hold every name is refused, with what to do.
func TestADatabaseThatIsNotUTF8IsRefused(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	for _, encoding := range []string{"LATIN1", "SQL_ASCII"} {
		postgresql.SQL(t, server.URL("postgres"), fmt.Sprintf(
			"CREATE DATABASE other_%[1]s ENCODING '%[1]s' LOCALE 'C' TEMPLATE template0", encoding))
		_, err := Open(ctx, server.URL("other_"+strings.ToLower(encoding)), storetest.Fields(), 0, quiet)
		expectLine(t, err, "its encoding is "+encoding, "createdb --encoding=UTF8 --template=template0 -O postgres NAME")
	}
}

// The first processes of a new database make its table together, whatever isolation its sessions begin with.
func TestProcessesThatStartTogetherMakeTheTableOnce(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	direct := server.NewDatabase(t)
	setDefault(t, direct, "default_transaction_isolation", "serializable")
	setDefault(t, direct, "default_transaction_deferrable", "on")
	for name, url := range map[string]string{"direct": direct, "behind a pooler": server.PgBouncer(t)(direct)} {
		for range 3 {
			var wait sync.WaitGroup
			for range 10 {
				wait.Go(func() {
					users, err := Open(ctx, url, storetest.Fields(), 0, quiet)
					if err != nil {
						t.Errorf("%s: %v", name, err)
						return
					}
					_ = users.Close(ctx)
				})
			}
			wait.Wait()
			postgresql.SQL(t, direct, "DROP TABLE users")
		}
	}
}

// Another program may make the table at the same moment, and takes no turns.
func TestATableThatAnotherProgramMakesMeanwhileIsServed(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	other := begin(t, url)
	other.do("CREATE TABLE users (id int PRIMARY KEY, name text, email text UNIQUE, created_at text, phone text)")
	started := make(chan error)
	go func() {
		users, err := Open(ctx, url, storetest.Fields(), 0, quiet)
		if err == nil {
			err = users.Close(ctx)
		}
		started <- err
	}()
	awaitWaiting(t, url, "1")
	other.do("COMMIT")
	if err := <-started; err != nil {
		t.Error(err)
	}
}
