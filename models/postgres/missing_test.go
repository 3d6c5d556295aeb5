//go:build postgres

package postgres

import (
	"fmt"
	"testing"

	"users-api/models/storetest"
	"users-api/tests/postgresql"
)

// The users are looked through in pages of 10,000. One that is on no page would stay, or be counted twice.
func TestWhoIsMissingIsFoundHoweverManyThereAre(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]int{
		"in three pages": 2*missingPage + 1,
		"in a page that ends with the highest id": missingPage,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := postgresql.Shared(t).NewDatabase(t)
			users := openUsers(t, url)
			postgresql.SQL(t, url, fmt.Sprintf("INSERT INTO users (id, name, email) OVERRIDING SYSTEM VALUE "+
				"SELECT n, 'n', n::text FROM generate_series(1, %d) n UNION SELECT 9223372036854775807, 'last', 'last'", n-1))
			storetest.DeleteMissing(t, users, n)
			expectUsers(t, url, "0")
		})
	}
}
