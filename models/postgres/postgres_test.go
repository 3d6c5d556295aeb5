//go:build postgres

package postgres

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"testing"

	"users-api/models"
	"users-api/models/storetest"
	"users-api/tests/postgresql"
)

func TestMain(m *testing.M) {
	code := storetest.Main(m)
	postgresql.End()
	os.Exit(code)
}

var ctx = context.Background()

// traits are what PostgreSQL differs in: it stores no NUL, and does not take ids back.
var traits = storetest.Traits{NoNUL: true, Gaps: true}

// withFeed returns the traits with the feed of changes, in a database whose URL a function knows. Other tests have
// transactions under way on the same server, which hold the feed back.
func withFeed(url func(models.Users) string) storetest.Traits {
	traits := traits
	traits.Feed = storetest.Feed{Delayed: true, Switch: func(t testing.TB, users models.Users, on bool) {
		t.Helper()
		change := ForgetChanges
		if on {
			change = RecordChanges
		}
		if err := change(ctx, url(users), quiet); err != nil {
			t.Fatal(err)
		}
		await(t, "the service has noticed", func() bool {
			storetest.Text(t, users) // which looks at the table
			cursor, err := users.Cursor(ctx)
			return err != nil || (cursor != "") == on
		})
	}}
	return traits
}

// quiet is a log that no test reads.
var quiet = slog.New(slog.DiscardHandler)

// openUsers opens a database.
func openUsers(t testing.TB, url string) *Users {
	t.Helper()
	return openWith(t, url, storetest.Fields())
}

// openWith opens a database with a table of fields.
func openWith(t testing.TB, url string, fields models.Fields) *Users {
	t.Helper()
	users, err := Open(ctx, url, fields, 8<<20, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = users.Close(ctx) })
	return users
}

func TestTheContractIsKept(t *testing.T) {
	t.Parallel()
	server := postgresql.Shared(t)
	var urls sync.Map
	open := func(t testing.TB, fields models.Fields) models.Users {
		url := server.NewDatabase(t)
		users := openWith(t, url, fields)
		urls.Store(models.Users(users), url)
		return users
	}
	storetest.Run(t, open, withFeed(func(users models.Users) string {
		url, _ := urls.Load(users)
		return url.(string)
	}))
}

func TestTheContractIsKeptWhereAnIndexIgnoresTheCaseOfEmails(t *testing.T) {
	t.Parallel()
	server := postgresql.Shared(t)
	storetest.RunIgnoringCase(t, func(t testing.TB, fields models.Fields) models.Users {
		url := server.NewDatabase(t)
		users := openWith(t, url, fields)
		postgresql.SQL(t, url, createCaseIndex)
		users.database.checked.Store(&tableCheck{table: users.table}) // so that the next request checks the table again
		return users
	}, traits)
}

func TestTheContractIsKeptBehindAPooler(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t, "max_connections=500")
	through := server.PgBouncer(t, "default_pool_size=3", "server_idle_timeout=1")
	storetest.Run(t, func(t testing.TB, fields models.Fields) models.Users {
		return openWith(t, through(server.NewDatabase(t)), fields)
	}, traits)
}
