//go:build postgres

package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"users-api/models"
	"users-api/models/storetest"
	"users-api/tests/postgresql"
)

// calls are what a client may ask of a storage, by name.
func calls(users *Users, id int64) map[string]func() error {
	name := "changed"
	return map[string]func() error{
		"creating": func() error {
			_, err := users.Create(ctx, models.NewUser{Name: "n", Email: fmt.Sprint(time.Now().UnixNano())})
			return err
		},
		"getting": func() error { _, err := users.Get(ctx, id); return err },
		"counting": func() error {
			_, err := users.Count(ctx, models.Query{Equal: storetest.Values("email", name)})
			return err
		},
		"changing": func() error { _, err := users.Change(ctx, id, storetest.Values("name", name), nil); return err },
		"changing with a condition": func() error {
			_, err := users.Change(ctx, id, storetest.Values("name", name), func(models.User) error { return nil })
			return err
		},
		"deleting": func() error { return users.Delete(ctx, -1, nil) },
		"selecting": func() error {
			for _, err := range users.Select(ctx, models.Query{Limit: 1}) {
				return err
			}
			return nil
		},
	}
}

// forClients is what a client is told of a server that is away: no Go, and nothing of where it is.
var forClients = regexp.MustCompile(`^(the PostgreSQL server (cannot be reached: connection refused|did not answer in time|` +
	`cannot be reached: connection reset by peer)|the connection to the PostgreSQL server was lost|` +
	`FATAL: .* \(SQLSTATE 57P0\d\))(; whether the change was stored is not known)?$`)

// expectFailing expects that every call fails in time, with what a client may be told.
func expectFailing(t *testing.T, users *Users, id int64) {
	t.Helper()
	var wait sync.WaitGroup
	for name, call := range calls(users, id) {
		wait.Go(func() {
			start := time.Now()
			err := call()
			if took := time.Since(start); took > 6*time.Second {
				t.Errorf("%s failed after %s", name, took)
			}
			failed, ok := errors.AsType[*models.StorageError](err)
			if !ok || failed.Code == "" || failed.Meaning == "" || !forClients.MatchString(failed.Text) {
				t.Errorf("%s: %#v", name, err)
			}
		})
	}
	wait.Wait()
}

// expectWorking waits until every call works again.
func expectWorking(t *testing.T, users *Users, id int64) {
	t.Helper()
	for name, call := range calls(users, id) {
		deadline := time.Now().Add(postgresql.Patience)
		for err := call(); err != nil && !errors.Is(err, models.ErrNotFound); err = call() {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
}

func TestAServerThatWasAwayIsFoundAgain(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]struct{ begin, end func(*postgresql.Server) }{
		"stopped": {func(s *postgresql.Server) { s.Stop(t) }, func(s *postgresql.Server) { s.StartAgain(t) }},
		"killed":  {func(s *postgresql.Server) { s.Kill(t) }, func(s *postgresql.Server) { s.StartAgain(t) }},
		"paused":  {func(s *postgresql.Server) { s.Pause(t) }, func(s *postgresql.Server) { s.Resume(t) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := postgresql.Start(t, postgresql.Scram)
			users := openUsers(t, server.NewDatabase(t))
			id := storetest.Create(t, users, "ada")
			fault.begin(server)
			expectFailing(t, users, id)
			expectFailing(t, users, id)
			fault.end(server)
			expectWorking(t, users, id)
		})
	}
}

// A read after a restart does not notice it.
func TestAReaderDoesNotNoticeARestart(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	users := openUsers(t, server.NewDatabase(t))
	id := storetest.Create(t, users, "ada")
	for range 3 {
		var wait sync.WaitGroup
		for range 20 {
			wait.Go(func() { _, _ = users.Get(ctx, id) }) // so that all connections are open
		}
		wait.Wait()
		server.Stop(t)
		server.StartAgain(t)
		if _, err := users.Get(ctx, id); err != nil {
			t.Error(err)
		}
	}
}

// While the first of two hosts is paused, the promoted second is found, and what was answered is there.
func TestThePromotedStandbyIsFound(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*postgresql.Server, testing.TB){
		"killed": (*postgresql.Server).Kill, "paused": (*postgresql.Server).Pause,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			primary := postgresql.Start(t)
			url := primary.NewDatabase(t)
			standby := primary.Standby(t)
			primary.Synchronize(t)
			both := strings.Replace(url, fmt.Sprint(":", primary.Port, "/"),
				fmt.Sprintf(":%d,127.0.0.1:%d/", primary.Port, standby.Port), 1)
			users := openUsers(t, both)
			id := storetest.Create(t, users, "ada")
			end(primary, t)
			standby.Promote(t)
			expectWorking(t, users, id)
			if user, err := users.Get(ctx, id); user.Email != "ada" || err != nil {
				t.Errorf("the user is %v, %v", user, err)
			}
			primary.Kill(t) // a paused one would not let its database be dropped
		})
	}
}

// A primary that becomes a standby refuses to write: then the connections to it are of no use.
func TestAPrimaryThatMayNotWriteIsLeft(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	url := server.NewDatabase(t)
	users := openUsers(t, url)
	id := storetest.Create(t, users, "ada")
	postgresql.SQL(t, url, "ALTER SYSTEM SET default_transaction_read_only = on")
	server.Reload(t)
	for range 2 {
		_, err := users.Create(ctx, models.NewUser{Name: "n", Email: "e"})
		if failed, ok := errors.AsType[*models.StorageError](err); !ok || failed.Code == "" {
			t.Errorf("got %#v", err)
		}
	}
	_, err := users.Create(ctx, models.NewUser{Name: "n", Email: "e"})
	if err == nil || err.Error() != "no PostgreSQL server was found that can be written" {
		t.Errorf("got %v", err)
	}
	postgresql.SQL(t, url, "SET default_transaction_read_only = off", "ALTER SYSTEM RESET default_transaction_read_only")
	server.Reload(t)
	expectWorking(t, users, id)
}

// Three processes and 200 clients get along with a server that lets 20 connections in, of which three are the
// superuser's.
func TestManyClientsGetAlongWithFewConnections(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t, "max_connections=20")
	address := server.NewDatabase(t)
	postgresql.SQL(t, address, "CREATE ROLE service LOGIN", "GRANT ALL ON SCHEMA public TO service")
	address = edited(t, address, func(place *url.URL) { place.User = url.User("service") })
	processes := []*Users{openUsers(t, address), openUsers(t, address), openUsers(t, address)}
	var wait sync.WaitGroup
	for client := range 200 {
		wait.Go(func() {
			users := processes[client%len(processes)]
			for i := range 5 {
				id, err := users.Create(ctx, models.NewUser{Name: "n", Email: fmt.Sprint(client, "-", i)})
				if err == nil {
					_, err = users.Get(ctx, id)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
	if n, err := processes[0].Count(ctx, models.Query{}); n != 1000 || err != nil {
		t.Errorf("%d users are there, %v", n, err)
	}
}

// A search takes long, and a lookup beside it does not; a client that goes away ends its search on the server too.
func TestASearchEndsWithWhoAskedForIt(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	url := server.NewDatabase(t)
	postgresql.SQL(t, url, "CREATE TABLE users (id int PRIMARY KEY, name text, email text, created_at text)",
		"INSERT INTO users VALUES (1, 'Ada', 'ada', '')",
		"CREATE FUNCTION lower(text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(600); RETURN $1; END $$",
		"DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = public, pg_catalog', current_database()); END $$")
	users := openUsers(t, url)
	const sleeps = "SELECT count(*)::text FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
	gone, cancel := context.WithCancel(ctx)
	ended := make(chan error)
	go func() {
		_, err := users.Count(gone, models.Query{Contains: "x"})
		ended <- err
	}()
	server.WaitUntil(t, "1", sleeps)
	nobody := "nobody"
	if _, err := users.Count(ctx, models.Query{Equal: storetest.Values("email", nobody)}); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	server.WaitUntil(t, "0", sleeps)
}
