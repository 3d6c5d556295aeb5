//go:build postgres

package postgres

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"users-api/models"
	"users-api/tests/postgresql"
)

// While another program holds a lock on the table that writes wait for, users are read as before.
func TestWritesThatWaitForAnothersLockHoldUpNoRead(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	users := openUsers(t, url)
	id, err := users.Create(ctx, models.NewUser{Name: "n", Email: "e"})
	if err != nil {
		t.Fatal(err)
	}
	letGo := hold(t, url, "LOCK TABLE users IN EXCLUSIVE MODE")
	name := "new"
	for range 4 * poolSize {
		go users.Change(ctx, id, models.Change{Name: &name}, nil) //nolint:errcheck // it fails, and holds connections
	}
	time.Sleep(300 * time.Millisecond) // the writes wait where no event tells of it
	for range 10 {
		began := time.Now()
		if _, err := users.Get(ctx, id); err != nil || time.Since(began) > 2*time.Second {
			t.Errorf("a user is read after %s: %v", time.Since(began), err)
		}
	}
	letGo()
}

// A write that waited for another program's lock was not stored, and the server can say so: nothing is unknown.
func TestAWriteThatWaitsForAnothersLockTooLongIsKnownNotToBeStored(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	users := openUsers(t, url)
	letGo := hold(t, url, "LOCK TABLE users IN EXCLUSIVE MODE")
	_, err := users.Create(ctx, models.NewUser{Name: "n", Email: "e"})
	letGo()
	if failed, ok := errors.AsType[*models.StorageError](err); !ok || strings.Contains(failed.Text, "not known") {
		t.Errorf("the error is %v", err)
	}
}

// Without the table the list fails as everything else does: with storage's text, and not with Go's.
func TestAListWithoutTheTableFailsWithStoragesText(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	users := openUsers(t, url)
	postgresql.SQL(t, url, "DROP TABLE users")
	err := users.List(ctx, func(list models.List) error {
		for _, err := range list.Pieces {
			if err != nil {
				return err
			}
		}
		return nil
	})
	if failed, ok := errors.AsType[*models.StorageError](err); !ok || failed.Code != "42P01" {
		t.Errorf("the error is %T %v", err, err)
	}
}

// A table that gives no id takes no user: nobody could ever name the user again.
func TestAUserThatTheTableGivesNoIDIsNotStored(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	postgresql.SQL(t, url, "CREATE TABLE users (id bigint, name text, email text UNIQUE, created_at timestamptz)")
	users := openUsers(t, url)
	_, err := users.Create(ctx, models.NewUser{Name: "n", Email: "e"})
	if stored := postgresql.Ask(t, url, "SELECT count(*)::text FROM users"); stored != "0" {
		t.Errorf("%s users are stored, and the error is %v", stored, err)
	}
}

// hold begins a transaction with a statement, and returns what ends it.
func hold(t *testing.T, url, statement string) (letGo func()) {
	t.Helper()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(ctx, "BEGIN; "+statement); err != nil {
		t.Fatal(err)
	}
	return func() { _ = conn.Close(ctx) }
}
