//go:build postgres

package postgres

import (
	"net/url"
	"sync"
	"testing"

	"users-api/models"
	"users-api/models/storetest"
	"users-api/tests/postgresql"
)

// beside returns the URL of the same database on another server.
func beside(t testing.TB, database string, server *postgresql.Server) string {
	t.Helper()
	return edited(t, database, func(place *url.URL) {
		other, err := url.Parse(server.URL(""))
		if err != nil {
			t.Fatal(err)
		}
		place.Host = other.Host
	})
}

func openBeside(t testing.TB, database, standbys string, fields models.Fields) *Users {
	t.Helper()
	users, err := OpenWithStandbys(ctx, database, standbys, fields, 8<<20, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = users.Close(ctx) })
	return users
}

func TestTheContractIsKeptWithAStandby(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t, "max_connections=500")
	standby := server.Standby(t)
	var urls sync.Map
	var mu sync.Mutex
	var all []*Users
	t.Cleanup(func() { // after the last of its tests
		var answered, passed uint64
		for _, users := range all {
			answered += users.standbys.answered.Load()
			passed += users.standbys.passed.Load()
		}
		if t.Logf("the standby answered %d reads, and the primary %d", answered, passed); answered < passed/4 {
			t.Error("the standby answered too few")
		}
	})
	storetest.Run(t, func(t testing.TB, fields models.Fields) models.Users {
		database := server.NewDatabase(t)
		server.AwaitReplay(t, standby)
		users := openBeside(t, database, beside(t, database, standby), fields)
		urls.Store(models.Users(users), database)
		mu.Lock()
		defer mu.Unlock()
		all = append(all, users)
		return users
	}, withFeed(func(users models.Users) string {
		database, _ := urls.Load(users)
		return database.(string)
	}))
}
