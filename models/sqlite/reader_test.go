package sqlite

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"users-api/models"
	"users-api/models/storetest"
)

// Where ids are no rowids, no page can begin after an id: all users are one page, however many they are.
func TestATableWithoutRowidsIsReadAsOnePage(t *testing.T) {
	t.Parallel()
	const n = 2*pageUsers + 1
	users, _ := openTable(t, 0, "CREATE TABLE users (id, name, email, created_at)",
		fmt.Sprintf("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < %d) "+
			"INSERT INTO users SELECT 7, 'n' || i, 'e' || i, '' FROM n", n))
	for _, limit := range []int{0, 1, pageUsers, pageUsers + 1, n, n + 1} {
		want := n
		if limit > 0 {
			want = min(limit, n)
		}
		var emails []string
		for user, err := range users.Select(ctx, models.Query{Limit: limit}) {
			if err != nil {
				t.Fatal(err)
			}
			emails = append(emails, user.Email)
		}
		slices.Sort(emails)
		if different := len(slices.Compact(emails)); different != want {
			t.Errorf("with the limit %d there are %d users, want %d", limit, different, want)
		}
	}
}

// A search looks at every user, and leaves a core and a connection to everybody else.
func TestSearchesLeaveRoomForOthers(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	storetest.Create(t, users, "ada")
	places := cap(users.reader.searching)
	if places >= maxReaders || places > max(1, runtime.GOMAXPROCS(0)-1) {
		t.Errorf("%d searches at once leave no connection or no core", places)
	}
	for range places {
		users.reader.searching <- struct{}{}
	}
	counted := make(chan error, 1)
	go func() {
		_, err := users.Count(ctx, models.Query{Contains: "ada"})
		counted <- err
	}()
	for range 100 {
		if n, err := users.Count(ctx, models.Query{}); n != 1 || err != nil {
			t.Fatalf("%d are counted beside searches, %v", n, err)
		}
	}
	select {
	case err := <-counted:
		t.Errorf("a search did not wait for the others: %v", err)
	default:
	}
	for range places {
		<-users.reader.searching
	}
	if err := <-counted; err != nil {
		t.Error(err)
	}
}
