package sqlite

import (
	"runtime"
	"testing"

	"users-api/models"
	"users-api/models/storetest"
)

// A search looks at every user, and leaves a core and a connection to everybody else.
func TestSearchesLeaveRoomForOthers(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	storetest.Create(t, users, "ada")
	places := int(maxSearches())
	if places >= maxReaders || places > max(1, runtime.GOMAXPROCS(0)-1) {
		t.Errorf("%d searches at once leave no connection or no core", places)
	}
	if err := users.reader.searching.Acquire(ctx, maxSearches()); err != nil {
		t.Fatal(err)
	}
	counted := make(chan error, 1)
	go func() {
		_, err := users.Count(ctx, models.Query{Contains: "ada"})
		counted <- err
	}()
	for range 100 {
		if _, err := users.Get(ctx, 1); err != nil {
			t.Fatalf("beside searches a user cannot be read: %v", err)
		}
	}
	select {
	case err := <-counted:
		t.Errorf("a search did not wait for the others: %v", err)
	default:
	}
	users.reader.searching.Release(maxSearches())
	if err := <-counted; err != nil {
		t.Error(err)
	}
}
