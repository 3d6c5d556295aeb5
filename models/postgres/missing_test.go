//go:build postgres

package postgres

import (
	"errors"
	"fmt"
	"testing"

	"users-api/models"
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
			options := models.ImportOptions{OnConflict: models.ConflictUpdates, DeleteMissing: true, MaxDeletes: 5}
			_, err := users.Import(ctx, storetest.Rows(), options)
			if many, ok := errors.AsType[*models.TooManyDeletes](err); !ok || many.Missing != n {
				t.Errorf("of %d users are missing: %v", n, err)
			}
			options.MaxDeletes = n
			if done, err := users.Import(ctx, storetest.Rows(), options); done.Deleted != n || err != nil {
				t.Errorf("of %d users %d were deleted: %v", n, done.Deleted, err)
			}
			expectUsers(t, url, "0")
		})
	}
}
