package sqlite

import (
	"context"
	"path/filepath"
	"testing"

	"users-api/models"
	"users-api/models/storetest"
)

// openUsers opens an empty database.
func openUsers(t testing.TB, listMemory int) *Users {
	t.Helper()
	return openWith(t, storetest.Fields(), listMemory)
}

// openWith opens an empty database with a table of fields.
func openWith(t testing.TB, fields models.Fields, listMemory int) *Users {
	t.Helper()
	users, err := Open(context.Background(), filepath.Join(t.TempDir(), "data", "users.db"), fields, listMemory)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = users.Close(context.Background()) })
	return users
}

var traits = storetest.Traits{Feed: storetest.Feed{Switch: switchFeed}}

// switchFeed switches the feed of changes on or off, as "users-api changes" does.
func switchFeed(t testing.TB, users models.Users, on bool) {
	t.Helper()
	change := ForgetChanges
	if on {
		change = RecordChanges
	}
	if err := change(ctx, users.(*Users).writer.files.database.path); err != nil {
		t.Fatal(err)
	}
}

func TestTheContractIsKept(t *testing.T) {
	t.Parallel()
	for name, listMemory := range map[string]int{"with a list that is kept": 8 << 20, "with a list that is read each time": 0} {
		t.Run(name, func(t *testing.T) {
			open := func(t testing.TB, fields models.Fields) models.Users { return openWith(t, fields, listMemory) }
			storetest.Run(t, open, traits)
		})
	}
}

func TestTheContractIsKeptWhereAnIndexIgnoresTheCaseOfEmails(t *testing.T) {
	t.Parallel()
	storetest.RunIgnoringCase(t, func(t testing.TB, fields models.Fields) models.Users {
		users := openWith(t, fields, 8<<20)
		if err := IgnoreEmailCase(ctx, users.writer.files.database.path); err != nil {
			t.Fatal(err)
		}
		return users
	}, traits)
}
