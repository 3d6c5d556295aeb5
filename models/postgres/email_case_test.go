//go:build postgres

package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"users-api/models"
	"users-api/models/storetest"
	"users-api/tests/postgresql"
)

// ignoreCase creates the index in a database.
func ignoreCase(t testing.TB, url string) {
	t.Helper()
	if err := IgnoreEmailCase(ctx, url, quiet); err != nil {
		t.Fatal(err)
	}
}

// findEmail returns the emails that are stored of the users whom an email finds.
func findEmail(t *testing.T, users *Users, email string) (found string) {
	t.Helper()
	query := models.Query{Equal: storetest.Values("email", email)}
	for user, err := range models.Each(users.Select(ctx, query)) {
		if err != nil {
			t.Error(err)
		}
		found += user.Email
	}
	exported := ""
	err := users.Export(ctx, query, func(export models.Export) error {
		for user, err := range export.Users {
			exported += user.Email
			if err != nil {
				return err
			}
		}
		return nil
	})
	n, failed := users.Count(ctx, query)
	if err := errors.Join(err, failed); err != nil || exported != found || (n == 0) != (found == "") || n > 1 {
		t.Errorf("%s finds %q, counts %d and exports %q, %v", email, found, n, exported, err)
	}
	return found
}

func TestEmailsThatDifferInCaseAreTheSameWhereTheIndexIs(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	users, other := openUsers(t, url), openUsers(t, url)
	id := storetest.Create(t, users, "Ada@Example.org")
	bob := storetest.Create(t, users, "bob@example.org")
	ignoreCase(t, url)
	for _, users := range []*Users{users, other} {
		if found := findEmail(t, users, "aDA@eXAMPLE.ORG"); found != "Ada@Example.org" {
			t.Errorf("%q is found", found)
		}
		_, create := users.Create(ctx, models.NewUser{Name: "n", Email: "ADA@example.org"})
		_, change := users.Change(ctx, bob, storetest.Values("email", "ada@EXAMPLE.org"), nil)
		_, imported := users.Import(ctx, storetest.Rows(models.NewUser{Name: "n", Email: "ada@example.org"}), models.ImportOptions{})
		refused, ok := errors.AsType[*models.RefusedRows](imported)
		if !ok || refused.Refused != 1 {
			t.Fatalf("the import: %v", imported)
		}
		for what, err := range map[string]error{"creating": create, "changing": change, "importing": refused.Listed[0].Err} {
			failed, ok := errors.AsType[*models.StorageError](err)
			if !ok || !failed.Duplicate || !strings.Contains(failed.Text, `unique constraint "users_email_nocase" (SQLSTATE 23505)`) {
				t.Errorf("%s: %#v", what, err)
			}
		}
	}
	changed, err := users.Change(ctx, id, storetest.Values("email", "ADA@example.org"), nil)
	if changed.Email != "ADA@example.org" || err != nil {
		t.Errorf("a user's own email is changed to %+v, %v", changed, err)
	}
}

// Only A to Z have a lower case: neither ß nor the dotless ı, nor a letter with a mark, nor the sign of Kelvin.
func TestLettersBeyondASCIIKeepTheirCase(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	users := openUsers(t, url)
	all := []string{"straße", "strasse", "STRAẞE", "ı", "i", "İ", "é", "É", "k", "\u212a", "σ", "ς", "Σ"}
	for _, email := range all {
		storetest.Create(t, users, email)
	}
	ignoreCase(t, url)
	for _, email := range all {
		if found := findEmail(t, users, email); found != email {
			t.Errorf("%s finds %q", email, found)
		}
	}
	for email, want := range map[string]string{"STRAßE": "straße", "I": "i", "ẞ": "", "K": "k", "Strasse": "strasse", "É": "É"} {
		if found := findEmail(t, users, email); found != want {
			t.Errorf("%s finds %q", email, found)
		}
	}
}

func TestAnImportMatchesEmailsInAnyCaseWhereTheIndexIs(t *testing.T) {
	t.Parallel()
	file := storetest.Rows(models.NewUser{Name: "1", Email: "ADA"}, models.NewUser{Name: "2", Email: "new"},
		models.NewUser{Name: "3", Email: "NEW"}, models.NewUser{Name: "4", Email: "É"})
	for name, test := range map[string]struct {
		schema  string
		options models.ImportOptions
		want    string
	}{
		"updating": {"", models.ImportOptions{OnConflict: models.ConflictUpdates}, "{2 2 0 0 []}  1:ada gone:gone n:é 3:new 4:É"},
		"skipping": {"", models.ImportOptions{OnConflict: models.ConflictSkips}, "{2 0 2 0 []}  Ada:ada gone:gone n:é 2:new 4:É"},
		"deleting": {"", models.ImportOptions{OnConflict: models.ConflictUpdates, DeleteMissing: true, MaxDeletes: 2},
			"{2 2 0 2 [{2 gone} {3 é}]}  1:ada 3:new 4:É"},
		"refusing": {"", models.ImportOptions{}, `{0 0 0 0 []} 2 ERROR: duplicate key value violates unique constraint ` +
			`"users_email_nocase" (SQLSTATE 23505)4 an earlier row has the same email Ada:ada gone:gone n:é`},
		"a table without another index": {"ALTER TABLE users DROP CONSTRAINT users_email_key",
			models.ImportOptions{OnConflict: models.ConflictUpdates}, "{2 2 0 0 []}  1:ada gone:gone n:é 3:new 4:É"},
		"short emails": {"ALTER TABLE users ALTER email TYPE varchar(20)",
			models.ImportOptions{OnConflict: models.ConflictUpdates}, "{2 2 0 0 []}  1:ada gone:gone n:é 3:new 4:É"},
		"emails of a fixed length": {"ALTER TABLE users ALTER email TYPE char(20)",
			models.ImportOptions{OnConflict: models.ConflictUpdates}, "{2 2 0 0 []}  1:ada gone:gone n:é 3:new 4:É"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := postgresql.Shared(t).NewDatabase(t)
			postgresql.SQL(t, url, ordinary, "INSERT INTO users (name, email) VALUES ('Ada', 'ada'), ('gone', 'gone'), ('n', 'é')", test.schema)
			ignoreCase(t, url)
			done, err := openUsers(t, url).Import(ctx, file, test.options)
			text := postgresql.Ask(t, url, "SELECT string_agg(name || ':' || email::text, ' ' ORDER BY id) FROM users")
			if got := fmt.Sprint(done, " ", refusals(err), " ", text); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// A lookup by email takes the index, whatever the type of the column is, and finds users as the index compares them.
func TestLookupsByEmailTakeTheIndex(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"text", "varchar(80)", "citext", "char(40)", "mail", "text COLLATE c"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			url := postgresql.Shared(t).NewDatabase(t)
			postgresql.SQL(t, url, "CREATE EXTENSION citext", "CREATE DOMAIN mail AS varchar(80) CHECK (VALUE <> 'bad')",
				"CREATE COLLATION c (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
				tableOf("text", kind+" UNIQUE", ""), "INSERT INTO users (name, email) SELECT 'n', 'Ada' || n FROM generate_series(1, 20000) n",
				"ANALYZE users")
			ignoreCase(t, url)
			users := openUsers(t, url)
			if found := strings.TrimSpace(findEmail(t, users, "ADA7")); found != "Ada7" {
				t.Errorf("%q is found", found)
			}
			query := models.Query{Equal: storetest.Values("email", "ADA7")}
			statements := users.queries.Select(query, true, 0)
			table := users.database.checked.Load().table
			for statement, values := range map[string][]any{
				statements.Users: {"ADA7", int64(2)}, statements.Count: {"ADA7"}, findByEmail(users.queries.fields, table, keepEmail): {[]string{"ADA7"}},
			} {
				if plan := explainPlan(t, users, statement, values...); !strings.Contains(plan, "users_email_nocase") ||
					strings.Contains(plan, "Seq Scan") {
					t.Errorf("%s\n%s", statement, plan)
				}
			}
		})
	}
}

// explainPlan returns how PostgreSQL runs a statement.
func explainPlan(t *testing.T, users *Users, statement string, values ...any) (plan string) {
	t.Helper()
	err := users.database.on(ctx, lookup, func(ctx context.Context, conn connection) error {
		return conn.query(ctx, func(rows pgx.Rows) error {
			plan += string(rows.RawValues()[0]) + "\n"
			return nil
		}, "EXPLAIN "+statement, values...)
	})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// What has the name of the index, or something of its definition, is not followed.
func TestAnotherIndexIsNotFollowed(t *testing.T) {
	t.Parallel()
	for _, index := range []string{
		"UNIQUE INDEX users_email_nocase ON users (lower(email))",
		`UNIQUE INDEX users_email_nocase ON users (lower(name COLLATE "C"))`,
		`UNIQUE INDEX users_email_nocase ON users (lower(trim(email) COLLATE "C"))`,
		`UNIQUE INDEX users_email_nocase ON users (upper(email COLLATE "C"))`,
		`UNIQUE INDEX users_email_nocase ON users (lower(substr(email COLLATE "C", 1, 3)))`,
		`UNIQUE INDEX users_email_nocase ON users ((lower(email COLLATE "C") || 'x'))`,
		`UNIQUE INDEX users_email_nocase ON users (lower(email COLLATE "C"), name)`,
		`UNIQUE INDEX users_email_nocase ON users (lower(email COLLATE "C")) WHERE name <> 'n'`,
		`UNIQUE INDEX users_email_nocase ON users (email)`,
		`INDEX users_email_nocase ON users (lower(email COLLATE "C"))`,
		`UNIQUE INDEX another ON users (lower(email COLLATE "C"))`,
	} {
		t.Run(index, func(t *testing.T) {
			t.Parallel()
			url := postgresql.Shared(t).NewDatabase(t)
			postgresql.SQL(t, url, ordinary, "CREATE "+index, "INSERT INTO users (name, email) VALUES ('n', 'ada')")
			users := openUsers(t, url)
			if users.table.emails.IgnoresCase || findEmail(t, users, "ADA") != "" {
				t.Error("it is followed")
			}
		})
	}
}

// Two processes that store the same emails at once, in another order and in another case, do not wait for each other.
func TestProcessesThatStoreTheSameInAnotherCaseDoNotLockEachOtherOut(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	url := server.NewDatabase(t)
	processes := []*Users{openUsers(t, url), openUsers(t, url)}
	ignoreCase(t, url)
	postgresql.SQL(t, url, trigger("AFTER INSERT ON users", "PERFORM pg_sleep(0.001); RETURN NULL;")) // so that they overlap
	for round := range 2 {
		unlock := lock(t, url) // so that they come in large batches
		var wait sync.WaitGroup
		for process, users := range processes {
			all := numbered(300)
			for i := range all {
				all[i].Email = fmt.Sprint("user-", i, "-", round)
				if i%2 == process {
					all[i].Email = strings.ToUpper(all[i].Email)
				}
			}
			wait.Go(func() { createAll(users, all...) })
		}
		server.WaitUntil(t, "true", "SELECT (count(*) >= 2)::text FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
		unlock()
		wait.Wait()
		expectUsers(t, url, fmt.Sprint(300*(round+1)))
	}
	if strings.Contains(server.Log(), "deadlock detected") {
		t.Error("PostgreSQL had to end a deadlock")
	}
}
