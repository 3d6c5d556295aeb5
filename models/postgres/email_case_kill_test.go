//go:build postgres

package postgres

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"users-api/models/storetest"
	"users-api/tests/postgresql"
)

// buildAlone builds the index without a command that takes anything away, until it waits for another transaction.
func buildAlone(t *testing.T, url string) <-chan error {
	t.Helper()
	built := make(chan error, 1)
	go func() {
		conn, err := pgx.Connect(ctx, url)
		if err == nil {
			_, err = conn.Exec(ctx, createCaseIndex)
		}
		built <- err
	}()
	awaitBuild(t, url)
	return built
}

// A signal ends the command while PostgreSQL builds: it takes away what was begun.
func TestASignalEndsTheBuildAndLeavesNothing(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	users := openUsers(t, url)
	storetest.Create(t, users, "ada")
	old := begin(t, url)
	old.do("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
	old.do("SELECT 1") // a snapshot, but no lock of the table
	stop, cancel := context.WithCancel(ctx)
	built := building(stop, t, url)
	expectIndex(t, url, "invalid")
	cancel()
	if err := <-built; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	expectIndex(t, url, "none")
	storetest.Create(t, users, "ADA") // what was begun refuses nothing
}

// The command was killed: the server goes on with the build, or has ended it and left what was begun.
func TestABuildThatWasKilledIsDoneAgain(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	address := server.NewDatabase(t)
	users := openUsers(t, address)
	storetest.Create(t, users, "ada")
	for name, kill := range map[string]func(){
		"the session is ended": func() {
			postgresql.SQL(t, address, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'CREATE UNIQUE INDEX%'")
		},
		"the server is killed": func() {
			server.Kill(t)
			server.StartAgain(t)
		},
	} {
		old := begin(t, address)
		old.do("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
		old.do("SELECT 1")
		killed := buildAlone(t, address)
		kill()
		if err := <-killed; err == nil {
			t.Error("it was not killed")
		}
		expectIndex(t, address, "invalid")
		_ = old.Close(ctx)
		await(t, name, func() bool { return IgnoreEmailCase(ctx, address, quiet) == nil })
		expectIndex(t, address, "valid")
		postgresql.SQL(t, address, "DROP INDEX users_email_nocase")
	}
}

// The command was killed, and the server still builds: the next one waits for that, and takes nothing away.
func TestABuildThatIsUnderWayIsLeftAlone(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	openUsers(t, url)
	old := begin(t, url)
	old.do("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
	old.do("SELECT 1")
	first := buildAlone(t, url)
	oid := postgresql.Ask(t, url, "SELECT 'users_email_nocase'::regclass::oid::text")
	second := make(chan error, 1)
	go func() { second <- IgnoreEmailCase(ctx, url, quiet) }()
	await(t, "it waits for the first", func() bool { return isWaiting(t, url) })
	old.do("COMMIT")
	if err := errors.Join(<-first, <-second); err != nil {
		t.Error(err)
	}
	if now := postgresql.Ask(t, url, "SELECT 'users_email_nocase'::regclass::oid::text"); now != oid {
		t.Error("it was built again")
	}
}

// PostgreSQL would end one of two builds, because each waits for the other.
func TestTwoThatBuildTheIndexAtOnceBuildOne(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	url := server.NewDatabase(t)
	openUsers(t, url)
	old := begin(t, url)
	old.do("INSERT INTO users (name, email) VALUES ('n', 'ada')")
	errs := make([]error, 3)
	var wait sync.WaitGroup
	for i := range errs {
		wait.Go(func() { errs[i] = IgnoreEmailCase(ctx, url, quiet) })
	}
	awaitBuild(t, url)
	old.do("COMMIT")
	wait.Wait()
	if err := errors.Join(errs...); err != nil || strings.Contains(server.Log(), "deadlock detected") {
		t.Errorf("%v\n%s", err, server.Log())
	}
	expectIndex(t, url, "valid")
}

// A build releases the lock of the table just before it commits that its index is valid.
func TestABuildThatIsBeingCommittedIsLeftAlone(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t, "log_statement=all")
	url := server.NewDatabase(t)
	openUsers(t, url)
	old := begin(t, url)
	old.do("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
	old.do("SELECT 1")
	first := buildAlone(t, url)
	postgresql.SQL(t, url, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
	server.Reload(t)
	old.do("COMMIT")
	server.WaitUntil(t, "1", "SELECT count(*)::text FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
	second := make(chan error, 1)
	go func() { second <- IgnoreEmailCase(ctx, url, quiet) }()
	await(t, "it has looked at the table", func() bool { return strings.Count(server.Log(), "LOCK TABLE users") > 1 })
	postgresql.SQL(t, url, "ALTER SYSTEM RESET synchronous_standby_names")
	server.Reload(t)
	if err := errors.Join(<-first, <-second); err != nil || strings.Contains(server.Log(), "DROP INDEX") {
		t.Errorf("%v\n%s", err, server.Log())
	}
	expectIndex(t, url, "valid")
}
