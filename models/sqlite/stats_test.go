package sqlite

import (
	"path/filepath"
	"testing"

	"users-api/models"
	"users-api/models/sqlite/sqlitetest"
	"users-api/models/storetest"
)

func TestCommitsAreCountedByTheWritesThatShareThem(t *testing.T) {
	users := openUsers(t, 0)
	other := otherProgram(t, users)
	storetest.Create(t, users, "alone")
	_ = users.Delete(ctx, -1, nil) // refused: it commits nothing
	writes := append(creations(users, 5), func() error { _, err := users.Create(ctx, models.NewUser{Email: "alone"}); return err })
	if err := together(t, users, other, writes...)[5]; err == nil {
		t.Fatal("the duplicate was stored")
	}
	got := users.Stats()
	if want := [10]uint64{0: 1, 3: 1}; got.CommitWrites != want || got.Writes != 6 {
		t.Errorf("commits of one and of five writes are counted as %v with %d writes", got.CommitWrites, got.Writes)
	}
	if got.WALBytes == 0 || got.DatabaseBytes != 0 && got.DatabaseBytes < 4096 {
		t.Errorf("the files have %d and %d bytes", got.DatabaseBytes, got.WALBytes)
	}
}

func TestListsAreCountedByHowTheyWereAnswered(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.db")
	users, err := Open(ctx, path, storetest.Fields(), 200)
	if err != nil {
		t.Fatal(err)
	}
	defer users.Close(ctx) //nolint:errcheck // nothing is asked of it any more
	expect := func(when string, read, extended, kept, streamed uint64) {
		t.Helper()
		if err := users.List(ctx, func(list models.List) error {
			for range list.Chunks {
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		got := users.Stats()
		if got.Read != read || got.Patched != extended || got.Cached != kept || got.Streamed != streamed {
			t.Errorf("%s: %+v", when, got)
		}
	}
	expect("the first list", 1, 0, 0, 0)
	expect("the same", 1, 0, 1, 0)
	storetest.Create(t, users, "a")
	expect("after a creation", 1, 1, 1, 0)
	expect("the same again", 1, 1, 2, 0)
	sqlitetest.Run(t, otherProgram(t, users), "INSERT INTO users (name, email) VALUES ('b', 'b')")
	expect("after another program's creation", 2, 1, 2, 0)
	storetest.Create(t, users, "a name that makes the list too large to be kept in two hundred bytes")
	expect("too large", 2, 1, 2, 1)
}
