//go:build postgres

package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"users-api/models"
	"users-api/models/storetest"
	"users-api/tests/postgresql"
)

// expectIndex expects that the index is "valid", "invalid" or "none".
func expectIndex(t *testing.T, url, want string) {
	t.Helper()
	if got := indexState(t, url); got != want {
		t.Errorf("the index is %s, want %s", got, want)
	}
}

func indexState(t *testing.T, url string) string {
	t.Helper()
	return postgresql.Ask(t, url, "SELECT coalesce((SELECT CASE WHEN indisvalid THEN 'valid' ELSE 'invalid' END FROM pg_index "+
		"WHERE indexrelid = to_regclass('users_email_nocase')), 'none')")
}

// awaitBuild returns when the build of the index waits for another transaction.
func awaitBuild(t *testing.T, url string) {
	t.Helper()
	await(t, "the build waits", func() bool {
		return postgresql.Ask(t, url, "SELECT count(*)::text FROM pg_stat_activity WHERE datname = current_database() "+
			"AND query LIKE 'CREATE UNIQUE INDEX%' AND wait_event_type = 'Lock'") != "0"
	})
}

// building runs the command until it waits for another transaction, and returns where its outcome comes.
func building(ctx context.Context, t *testing.T, url string) <-chan error {
	t.Helper()
	built := make(chan error, 1)
	go func() { built <- IgnoreEmailCase(ctx, url, quiet) }()
	awaitBuild(t, url)
	return built
}

// No write waits for the index, and a read after the command's end follows it, in every process.
func TestTheIndexIsBuiltBesideServicesThatWrite(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	idle := []*Users{openUsers(t, url), openUsers(t, url)}
	storetest.Create(t, idle[0], "Ada")
	var wait sync.WaitGroup
	besideWriters(t, url, func() {
		ignoreCase(t, url)
		for _, users := range idle {
			for range 20 { // at once, when the last check of the table is older than the index
				wait.Go(func() {
					n, err := users.Count(ctx, models.Query{Equal: storetest.Values("email", "aDA")})
					if n != 1 || err != nil {
						t.Errorf("%d users are found, %v", n, err)
					}
				})
			}
		}
		wait.Wait()
	})
	expectIndex(t, url, "valid")
	before := postgresql.Ask(t, url, "SELECT 'users_email_nocase'::regclass::oid::text")
	ignoreCase(t, url) // again
	if after := postgresql.Ask(t, url, "SELECT 'users_email_nocase'::regclass::oid::text"); after != before {
		t.Error("it was built again")
	}
}

func TestEmailsThatAreTheSameAreNamed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ insert, says string }{
		"two pairs, and users without an email": {"VALUES ('b'), ('a'), ('c'), ('A'), ('B'), ('aA'), (NULL), (NULL), ('É'), ('é')",
			"the users have the ids 1, 5, 2, 4"},
		"100 users": {"SELECT CASE n % 2 WHEN 0 THEN 'a' ELSE 'A' END || n / 2 FROM generate_series(0, 99) n",
			"the users have the ids 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, "},
		"101 users": {"SELECT CASE n WHEN 0 THEN 'A' WHEN 1 THEN 'a' ELSE repeat('b', n - 1) || repeat('B', 101 - n) END FROM generate_series(0, 100) n",
			" 99, 100 and others"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := postgresql.Shared(t).NewDatabase(t)
			postgresql.SQL(t, url, tableOf("text", "text UNIQUE", ""), "INSERT INTO users (email) "+test.insert)
			err := IgnoreEmailCase(ctx, url, quiet)
			same, ok := errors.AsType[*models.SameEmails](err)
			if !ok || !strings.Contains(err.Error(), test.says) || same.More != strings.HasPrefix(name, "101") {
				t.Errorf("it says %v", err)
			}
			expectIndex(t, url, "none")
		})
	}
}

// An email that is stored while the index is built is found by the build, which leaves nothing behind.
func TestAnEmailThatIsStoredDuringTheBuildIsNamed(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	users := openUsers(t, url)
	storetest.Create(t, users, "ada")
	other := begin(t, url)
	other.do("INSERT INTO users (name, email) VALUES ('n', 'ADA')")
	built := building(ctx, t, url)
	expectIndex(t, url, "invalid")
	other.do("COMMIT")
	err := <-built
	if same, ok := errors.AsType[*models.SameEmails](err); !ok || fmt.Sprint(same.IDs) != "[1 2]" || same.More {
		t.Errorf("it says %v", err)
	}
	expectIndex(t, url, "none")
	storetest.Create(t, users, "aDA") // what was begun refuses nothing
}

// The defaults of the role and the limits of the URL do not end the build; behind a pooler no session can be told so.
func TestTheTimeoutsOfTheRoleDoNotEndTheBuild(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	address := server.NewDatabase(t)
	openUsers(t, address)
	setTimeouts(t, address)
	if err := IgnoreEmailCase(ctx, server.PgBouncer(t)(address), quiet); !errors.Is(err, errTimeouts) {
		t.Errorf("behind a pooler: %v", err)
	}
	expectIndex(t, address, "none")
	other := begin(t, address+"?statement_timeout=0")
	other.do("INSERT INTO users (name, email) VALUES ('n', 'ada')")
	begun := time.Now()
	built := building(ctx, t, address+"?statement_timeout=2000&lock_timeout=2000")
	await(t, "it has waited for longer than the timeouts", func() bool { return time.Since(begun) > 3*time.Second })
	other.do("COMMIT")
	if err := <-built; err != nil {
		t.Error(err)
	}
	expectIndex(t, address, "valid")
}

func TestTheIndexIsBuiltThroughAPooler(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	address := server.NewDatabase(t)
	through := server.PgBouncer(t, "default_pool_size=3")(address)
	users := openUsers(t, through)
	storetest.Create(t, users, "Ada")
	ignoreCase(t, through)
	expectIndex(t, address, "valid")
	if found := findEmail(t, users, "ADA"); found != "Ada" {
		t.Errorf("%q is found", found)
	}
}

func TestATableThatCannotHaveTheIndexSaysWhy(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	for name, test := range map[string]struct{ schema, role, says string }{
		"no table": {"SELECT 1", "postgres",
			`relation "users" does not exist: start the service, which creates the table with the columns that USER_FIELDS names`},
		"partitions": {tables["a table with partitions"], "postgres", `cannot create index on partitioned table "users" concurrently`},
		"a role that does not own the table": {ordinary + "CREATE ROLE service LOGIN; GRANT ALL ON users TO service; " +
			"GRANT ALL ON SCHEMA public TO service", "service",
			"must be owner of table users: name the owner of the table in the URL"},
		"another index of that name": {ordinary + "CREATE INDEX users_email_nocase ON users (name)", "postgres",
			`relation "users_email_nocase" already exists`},
		"emails that are numbers": {tableOf("text", "int UNIQUE", ""), "postgres", "collations are not supported by type integer"},
	} {
		t.Run(name, func(t *testing.T) {
			address := server.NewDatabase(t)
			postgresql.SQL(t, address, test.schema)
			err := IgnoreEmailCase(ctx, edited(t, address, func(place *url.URL) { place.User = url.User(test.role) }), quiet)
			if err == nil || err.Error() != test.says {
				t.Errorf("it says %v", err)
			}
		})
	}
}
