//go:build postgres

package postgres

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"users-api/models"
	"users-api/models/storetest"
	"users-api/tests/postgresql"
)

// Each write changes one row of another table, in a snapshot of its own, so that PostgreSQL ends most of those that run at
// once with 40001. They are done again, and clients notice nothing.
func TestAWriteThatCannotBeSerializedIsDoneAgain(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	url := server.NewDatabase(t)
	postgresql.SQL(t, url, ordinary, "CREATE TABLE writes (n int)", "INSERT INTO writes VALUES (0)",
		`CREATE FUNCTION count_write() RETURNS trigger LANGUAGE plpgsql AS
			'BEGIN UPDATE writes SET n = n + 1; RETURN NULL; END'`,
		"CREATE TRIGGER counts AFTER INSERT OR UPDATE OR DELETE ON users EXECUTE FUNCTION count_write()")
	url += "?default_transaction_isolation=repeatable%20read"
	both := []*Users{openUsers(t, url), openUsers(t, url)}
	var wait sync.WaitGroup
	for client := range 6 {
		wait.Go(func() {
			for i := range 20 {
				if err := writeAll(both[client%2], fmt.Sprintf("%d-%d", client, i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
	if ended := strings.Count(server.Log(), "could not serialize access"); ended < 20 {
		t.Errorf("PostgreSQL ended %d writes, too few to prove anything", ended)
	}
	expectUsers(t, url, "0")
}

// writeAll creates a user, changes it and deletes it.
func writeAll(users *Users, email string) error {
	id, err := users.Create(ctx, models.NewUser{Name: "n", Email: email})
	if err != nil {
		return err
	}
	_, changing := users.Change(ctx, id, storetest.Values("name", "m"), nil)
	return errors.Join(changing, users.Delete(ctx, id, nil))
}

// Creations that share a statement wait for one email and hold another. PostgreSQL ends the statement, and it is done again.
func TestCreationsThatADeadlockEndsAreDoneAgain(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	users := openUsers(t, url)
	other := begin(t, url)
	other.do("SET deadlock_timeout = '1h'") // so that it is not the one that is ended
	other.do("INSERT INTO users (name, email) VALUES ('n', 'b')")
	together := []*creation{{user: models.NewUser{Name: "n", Email: "a"}}, {user: models.NewUser{Name: "n", Email: "b"}}}
	var wait sync.WaitGroup
	wait.Go(func() {
		if err := users.database.on(ctx, write, users.writer.insert(together)); err != nil {
			t.Error(err)
		}
	})
	awaitWaiting(t, url, "1") // they have a, and wait for b
	other.do("INSERT INTO users (name, email) VALUES ('n', 'a')")
	other.do("ROLLBACK")
	wait.Wait()
	expectUsers(t, url, "2")
}
