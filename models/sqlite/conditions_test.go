package sqlite

import (
	"testing"

	"users-api/models"
	"users-api/models/sqlite/dbfile"
	"users-api/models/storetest"
)

// While a condition is asked, no other program can write: what it sees is what the write finds.
func TestAConditionIsAskedInTheTransactionThatWrites(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	conn, err := dbfile.Open(users.writer.files.database.path, dbfile.ReadWrite) // it does not wait for locks
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	asked := 0
	allow := func(models.User) error {
		asked++
		if err := conn.Script("BEGIN IMMEDIATE; ROLLBACK"); !isBusy(err) {
			t.Errorf("another program may write meanwhile: %v", err)
		}
		return nil
	}
	id, name := storetest.Create(t, users, "ada"), "Ada"
	if _, err := users.Change(ctx, id, storetest.Values("name", name), allow); err != nil {
		t.Error(err)
	}
	if err := users.Delete(ctx, id, allow); err != nil {
		t.Error(err)
	}
	if asked != 2 {
		t.Errorf("it was asked %d times", asked)
	}
}
