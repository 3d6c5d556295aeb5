//go:build postgres

package postgres

import (
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"users-api/models/storetest"
	"users-api/tests/postgresql"
)

// openPatched opens a database with 2,000 users that records changes, and whose list is in memory.
func openPatched(t testing.TB) (*Users, string) {
	t.Helper()
	users, url := openRecorded(t)
	postgresql.SQL(t, url, "INSERT INTO users (name, email) SELECT 'n', n FROM generate_series(1, 2000) n")
	storetest.Text(t, users)
	return users, url
}

func TestWithAFeedAListIsPatchedWhateverProgramWrote(t *testing.T) {
	t.Parallel()
	users, url := openPatched(t)
	others := openUsers(t, url)
	late := begin(t, url)
	late.do("UPDATE users SET name = 'late' WHERE id = 600")
	for _, test := range []struct {
		name  string
		write func()
	}{
		{"another process's creation", func() { storetest.Create(t, others, "second") }},
		{"another program's statement", func() { postgresql.SQL(t, url, "UPDATE users SET name = 'x' WHERE id % 1000 = 1") }},
		{"a deletion of a whole segment", func() { postgresql.SQL(t, url, "DELETE FROM users WHERE id BETWEEN 512 AND 1023 AND id <> 600") }},
		{"another id", func() { postgresql.SQL(t, url, "UPDATE users SET id = 100000 WHERE id = 2") }},
		{"a transaction that commits late", func() { late.do("COMMIT") }},
		{"a write that does not concern users", func() { postgresql.SQL(t, url, "CREATE TABLE other ()") }},
	} {
		before := users.Stats()
		test.write()
		got, _ := storetest.Text(t, users)
		if want := wholeText(t, users); got != want {
			t.Errorf("after %s the list is not what is stored", test.name)
		}
		if after := users.Stats(); after.Read != before.Read || after.Patched == before.Patched {
			t.Errorf("after %s the list was read again", test.name)
		}
	}
}

// No trigger records these.
func TestWithAFeedNoListIsStaleAfterAChangeOfTheTable(t *testing.T) {
	t.Parallel()
	users, url := openPatched(t)
	for _, test := range []struct{ name, statements string }{
		{"a trigger that was disabled meanwhile", "ALTER TABLE users DISABLE TRIGGER users_changes_changed; UPDATE users SET name = 'b' " +
			"WHERE id = 3; ALTER TABLE users ENABLE ALWAYS TRIGGER users_changes_changed"},
		{"a trigger that was removed and made again", "DROP TRIGGER users_changes_changed ON users; UPDATE users SET name = 'c' WHERE id = 3; " +
			createTrigger("public", "users_changes_changed")},
		{"a function that recorded nothing meanwhile", "CREATE OR REPLACE FUNCTION users_changes_record() RETURNS trigger LANGUAGE plpgsql " +
			"SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS 'BEGIN RETURN NULL; END'; UPDATE users SET name = 'd' WHERE id = 3; " +
			"CREATE OR REPLACE FUNCTION users_changes_record() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER " +
			"SET search_path = pg_catalog, pg_temp AS $record$" + strings.ReplaceAll(recordFunction, "SCHEMA", "public") + "$record$"},
		{"a column's new type", "ALTER TABLE users ALTER name TYPE varchar(200) USING name || '!'"},
		{"a column that is made again", "ALTER TABLE users DROP COLUMN name, ADD COLUMN name text NOT NULL DEFAULT 'e'"},
		{"entries that another program removed", "UPDATE users SET name = 'f' WHERE id = 3; TRUNCATE users_changes"},
		{"entries that were deleted because of their age", "UPDATE users SET name = 'g' WHERE id = 3; UPDATE users_changes SET at = '2001-01-01'"},
		{"a table in its place", "CREATE TABLE users2 (LIKE users INCLUDING ALL); INSERT INTO users2 (name, email) VALUES ('h', 'h'); " +
			"ALTER TABLE users RENAME TO users1; ALTER TABLE users2 RENAME TO users"},
		{"the table in its place again", "DROP TABLE users; ALTER TABLE users1 RENAME TO users"},
		{"TRUNCATE", "TRUNCATE users"},
	} {
		storetest.Create(t, users, test.name)
		storetest.Text(t, users)
		postgresql.SQL(t, url, test.statements)
		prune(t, users, dayBefore())
		got, _ := storetest.Text(t, users)
		if want := wholeText(t, users); got != want {
			t.Errorf("after %s the list is\n%.300s\nwant\n%.300s", test.name, got, want)
		}
	}
	if awaitCursor(t, users) == "" {
		t.Error("changes are no longer recorded")
	}
}

// The entry that commits late is deleted because of its age, and the one that stays as the place where the feed begins is of a
// transaction that the list has already.
func TestWithAFeedNoListIsStaleWhenEntriesAreDeletedThatItNeeds(t *testing.T) {
	t.Parallel()
	users, url := openPatched(t)
	late := begin(t, url)
	late.do("UPDATE users SET name = 'late' WHERE id = 600")
	storetest.Create(t, users, "early")
	storetest.Text(t, users)
	late.do("COMMIT")
	postgresql.SQL(t, url, "UPDATE users_changes SET at = '2001-01-01'")
	prune(t, users, dayBefore())
	if got, _ := storetest.Text(t, users); got != wholeText(t, users) {
		t.Error("the list is not what is stored")
	}
}

func TestWithAFeedNoListIsStaleUnderWriters(t *testing.T) {
	t.Parallel()
	users, url := openRecorded(t)
	processes := []*Users{users, openUsers(t, url)}
	awaitCursor(t, processes[1])
	var wait sync.WaitGroup
	for i := range 8 {
		users, other := processes[i%2], processes[(i+1)%2]
		wait.Go(func() {
			for n := range 20 {
				email := fmt.Sprintf("%d-%d@example.org", i, n)
				storetest.Create(t, users, email)
				if text, _ := storetest.Text(t, other); !strings.Contains(text, email) {
					t.Errorf("a list that was asked for after %s was created does not show it", email)
				}
			}
		})
	}
	wait.Wait()
	for _, users := range processes {
		if users.Stats().Patched == 0 {
			t.Error("no list was patched")
		}
		if got, _ := storetest.Text(t, users); got != wholeText(t, users) {
			t.Error("the list is not what is stored")
		}
	}
}

func TestAFeedThatCannotBeReadSaysWhy(t *testing.T) {
	t.Parallel()
	users, address := openRecorded(t)
	storetest.Create(t, users, "a")
	postgresql.SQL(t, address, "CREATE ROLE service LOGIN", "GRANT ALL ON users TO service", "CREATE ROLE other LOGIN",
		"GRANT SELECT ON users TO other", "GRANT ALL ON SCHEMA public TO other")
	as := func(name string) string {
		return edited(t, address, func(place *url.URL) { place.User = url.User(name) })
	}
	service := openUsers(t, as("service"))
	storetest.Create(t, service, "b") // recorded with the rights of the owner
	if got, _ := entriesAfter(t, users, ""); got != "created 1 a, created 2 b" {
		t.Errorf("the feed has %s", got)
	}
	if text, _ := storetest.Text(t, service); !strings.Contains(text, `"a"`) || cursorOf(t, service) != "" {
		t.Errorf("the list is %s, with the cursor %q", text, cursorOf(t, service))
	}
	if _, err := service.Changes(ctx, "", 10); err == nil || !strings.Contains(err.Error(), "permission denied for table users_changes: grant") {
		t.Errorf("the feed says %v", err)
	}
	if err := service.PruneChanges(ctx, dayBefore()); err == nil || !strings.Contains(err.Error(), "permission denied for table users_changes") {
		t.Errorf("pruning says %v", err)
	}
	if err := ForgetChanges(ctx, as("other"), quiet); err == nil || !strings.Contains(err.Error(), ": name the owner of the table in the URL") {
		t.Errorf("ending says %v", err)
	}
	if err := ForgetChanges(ctx, address, quiet); err != nil {
		t.Fatal(err)
	}
	if err := RecordChanges(ctx, as("other"), quiet); err == nil || !strings.Contains(err.Error(), "name the owner of the table in the URL") {
		t.Errorf("beginning says %v", err)
	}
	if schema := postgresql.Ask(t, address, "SELECT concat(to_regclass('users_changes'), (SELECT count(*) FROM pg_proc WHERE proname LIKE 'users_changes%'), "+
		"(SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'users_changes%'))"); schema != "00" {
		t.Errorf("there is %s", schema)
	}
}

func TestATableWhoseWritesCannotAllBeRecordedIsRefused(t *testing.T) {
	t.Parallel()
	const columns = " (id bigint generated by default as identity primary key, name text, email text unique, created_at timestamptz)"
	for name, test := range map[string]struct{ statements, says string }{
		"a table with partitions": {"CREATE TABLE users (id bigint PRIMARY KEY, name text, email text, created_at timestamptz) PARTITION BY RANGE (id);" +
			"CREATE TABLE low PARTITION OF users FOR VALUES FROM (0) TO (1000)", "ordinary table"},
		"a child of another table": {"CREATE TABLE parent (id bigint, name text); CREATE TABLE users (id bigint PRIMARY KEY, email text, created_at timestamptz) " +
			"INHERITS (parent)", "ordinary table"},
		"an unlogged table":        {"CREATE UNLOGGED TABLE users" + columns, "unlogged"},
		"no table":                 {"SELECT 1", "does not exist"},
		"another program's table":  {"CREATE TABLE users" + columns + "; CREATE TABLE users_changes (what text)", "another program's"},
		"a table that comes first": {"CREATE TABLE users" + columns + "; CREATE SCHEMA first; CREATE TABLE first.users_changes (what text)", "comes first on the search path"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := postgresql.Shared(t).NewDatabase(t)
			postgresql.SQL(t, url, test.statements)
			setSearchPath(t, url, "first, public")
			before := postgresql.Schema(t, url)
			if err := RecordChanges(ctx, url, quiet); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("it says %v", err)
			}
			if after := postgresql.Schema(t, url); after != before {
				t.Errorf("the schema was\n%s\nand is\n%s", before, after)
			}
		})
	}
}

func TestAFeedIsInTheSchemaOfUsersAndLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	url := postgresql.Start(t).NewDatabase(t)
	postgresql.SQL(t, url, `CREATE SCHEMA "Some schema"`, "CREATE SCHEMA other")
	setSearchPath(t, url, `"Some schema", other`)
	users := openUsers(t, url)
	before := postgresql.Schema(t, url)
	for range 2 {
		record(t, users, url)
		cursor := cursorOf(t, users)
		if err := RecordChanges(ctx, url, quiet); err != nil || cursorOf(t, users) != cursor {
			t.Errorf("again: %v, and the cursor was %s and is %s", err, cursor, cursorOf(t, users))
		}
		postgresql.SQL(t, url, "SET search_path = other; INSERT INTO \"Some schema\".users (name, email) VALUES ('n', gen_random_uuid())")
		if got, _ := entriesAfter(t, users, ""); !strings.HasPrefix(got, "created ") {
			t.Errorf("the feed has %q", got)
		}
		if err := ForgetChanges(ctx, url, quiet); err != nil {
			t.Error(err)
		}
		if after := postgresql.Schema(t, url); after != before {
			t.Errorf("the schema was\n%s\nand is\n%s", before, after)
		}
		useOnce(t, users, "ada")
	}
	if text, _ := storetest.Text(t, users); text != wholeText(t, users) {
		t.Error(text)
	}
}

func dayBefore() time.Time { return time.Now().Add(-24 * time.Hour) }

// createTrigger returns the statements that make a trigger of the feed.
func createTrigger(schema, name string) (statements string) {
	for statement := range strings.SplitSeq(createFeed(schema), ";") {
		if strings.Contains(statement, " TRIGGER "+name) {
			statements += statement + ";"
		}
	}
	return statements
}

func setSearchPath(t testing.TB, url, path string) {
	t.Helper()
	postgresql.SQL(t, url, "ALTER DATABASE "+url[strings.LastIndex(url, "/")+1:]+" SET search_path = "+path)
}
