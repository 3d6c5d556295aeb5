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

func addColumn(url, name string) error {
	return AddColumn(ctx, url, models.NewFields(name).Find(name), quiet)
}

func TestAColumnIsAddedBesideServicesThatWrite(t *testing.T) {
	t.Parallel()
	server := postgresql.Shared(t)
	url := server.NewDatabase(t)
	storetest.Create(t, openUsers(t, url), "ada")
	besideWriters(t, url, func() {
		for _, name := range []string{"phone", "group", "a_name_of_40_characters_which_is_the_most"} {
			if err := addColumn(url, name); err != nil {
				t.Error(err)
			}
		}
	})
	if !strings.Contains(postgresql.Schema(t, url), "    phone text,\n    \"group\" text,\n") {
		t.Error(postgresql.Schema(t, url))
	}
	users := openWith(t, url, models.NewFields("phone"))
	if _, err := users.Change(ctx, 1, values(users, "phone", "+44"), nil); err != nil {
		t.Error(err)
	}
	expectFields(t, url, "phone", "ada:+44")
}

func TestAColumnThatCannotBeAddedChangesNothing(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	good, empty := server.NewDatabase(t), server.NewDatabase(t)
	openUsers(t, good)
	if err := addColumn(good, "phone"); err != nil {
		t.Fatal(err)
	}
	postgresql.SQL(t, good, "CREATE ROLE service LOGIN", "GRANT ALL ON users TO service")
	before := postgresql.Schema(t, good)
	for name, test := range map[string]struct{ url, field, says string }{
		"a column that exists":   {good, "phone", "the table users has the column phone already: nothing was changed"},
		"one that was made so":   {good, "email", "the table users has the column email already: nothing was changed"},
		"a column of PostgreSQL": {good, "xmin", `column name "xmin" conflicts with a system column name`},
		"no table": {empty, "phone", `relation "users" does not exist: start the service, which creates the table with the ` +
			"columns that USER_FIELDS names"},
		"a role that does not own the table": {edited(t, good, func(place *url.URL) { place.User = url.User("service") }), "note",
			"must be owner of table users: name the owner of the table in the URL"},
		"no such database": {edited(t, good, func(place *url.URL) { place.Path = "/gone" }), "note",
			fmt.Sprintf("cannot use the PostgreSQL database at 127.0.0.1:%d (database \"gone\", user \"postgres\"): database \"gone\" "+
				"does not exist: create it with `createdb -O postgres gone`, or name another in the URL", server.Port)},
	} {
		t.Run(name, func(t *testing.T) {
			err := AddColumn(ctx, test.url, &models.Field{Name: test.field, Added: true}, quiet)
			if err == nil || err.Error() != test.says {
				t.Errorf("it says %v", err)
			}
		})
	}
	if after := postgresql.Schema(t, good); after != before {
		t.Errorf("the schema was\n%s\nand is\n%s", before, after)
	}
}

// Of two that add the same column at once, one does, and the other says that it exists.
func TestTwoThatAddAColumnAtOnceAddOne(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	openUsers(t, url)
	errs := make([]error, 2)
	var wait sync.WaitGroup
	for i := range errs {
		wait.Go(func() { errs[i] = addColumn(url, "phone") })
	}
	wait.Wait()
	if got := strings.TrimSpace(strings.ReplaceAll(fmt.Sprint(errors.Join(errs...)), "\n", " ")); got != "the table users has the column phone already: "+
		"nothing was changed" {
		t.Errorf("they say %s", got)
	}
}

// A read that has begun keeps the column from being added, and no other request for long.
func TestAColumnIsAddedWhenOthersHaveEndedAndHoldsNothingUpMeanwhile(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	openUsers(t, url)
	for name, lock := range map[string]string{"a read": "ACCESS SHARE", "a VACUUM": "SHARE UPDATE EXCLUSIVE"} {
		other := begin(t, url)
		other.do("LOCK TABLE users IN " + lock + " MODE")
		longest := besideWriters(t, url, func() {
			added := make(chan error)
			go func() { added <- addColumn(url, "phone") }()
			await(t, "it waits", func() bool { return isWaiting(t, url) })
			for range 2 { // lock_timeout ends its wait; it waits again
				await(t, "it has stopped to wait", func() bool { return !isWaiting(t, url) })
				await(t, "it waits again", func() bool { return isWaiting(t, url) })
			}
			other.do("COMMIT")
			if err := <-added; err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
		if longest > 3*time.Second {
			t.Errorf("%s: a request took %s", name, longest)
		}
		postgresql.SQL(t, url, "ALTER TABLE users DROP COLUMN phone")
	}
}

// isWaiting reports whether a change of the schema waits for a lock.
func isWaiting(t *testing.T, url string) bool {
	t.Helper()
	return postgresql.Ask(t, url, "SELECT count(*)::text FROM pg_stat_activity WHERE datname = current_database() "+
		"AND wait_event_type = 'Lock' AND (query LIKE 'ALTER TABLE%' OR query LIKE '%SHARE UPDATE EXCLUSIVE%')") != "0"
}

func TestAColumnThatOthersKeepFromBeingAddedNamesThem(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	users := openUsers(t, url)
	other := begin(t, url)
	other.do("SET application_name = 'reports'")
	other.do("LOCK TABLE users IN ACCESS SHARE MODE")
	pid := other.PgConn().PID()
	err := addColumn(url, "phone")
	want := fmt.Sprintf("nothing was changed, because users was in use for 30s, by the session with the process id %d (reports, user "+
		"postgres), whose transaction began ", pid)
	if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.HasSuffix(err.Error(), " s ago: try again when that has ended") {
		t.Errorf("it says %v, want %s", err, want)
	}
	other.do("COMMIT")
	if err := addColumn(url, "phone"); err != nil {
		t.Error(err)
	}
	useOnce(t, users, "ada")
}

func TestAColumnIsAddedThroughAPoolerWhateverTheTimeoutsOfTheRoleAre(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t, "default_transaction_isolation=serializable")
	direct := server.NewDatabase(t)
	openUsers(t, direct)
	setTimeouts(t, direct)
	for i, url := range []string{direct, server.PgBouncer(t)(direct)} {
		other := begin(t, direct)
		other.do("LOCK TABLE users IN SHARE UPDATE EXCLUSIVE MODE")
		begun, added := time.Now(), make(chan error)
		go func() { added <- addColumn(url, fmt.Sprint("phone", i)) }()
		await(t, "it has waited for longer than the timeouts", func() bool {
			return isWaiting(t, direct) && time.Since(begun) > 3*time.Second
		})
		other.do("COMMIT")
		if err := <-added; err != nil {
			t.Error(err)
		}
	}
}

// setTimeouts gives new sessions in a database time limits of two seconds.
func setTimeouts(t *testing.T, url string) {
	t.Helper()
	postgresql.SQL(t, url, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET statement_timeout = 2000', current_database());
		EXECUTE format('ALTER DATABASE %I SET lock_timeout = 2000', current_database()); END $$`)
}

func TestASignalEndsAChangeOfTheSchemaThatWaits(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	openUsers(t, url)
	other := begin(t, url)
	other.do("LOCK TABLE users IN ACCESS SHARE MODE")
	stop, cancel := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- AddColumn(stop, url, models.NewFields("phone").Find("phone"), quiet) }()
	awaitWaiting(t, url, "1")
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}
