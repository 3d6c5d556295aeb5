//go:build postgres

package postgres

import (
	"testing"

	"users-api/models/storetest"
	"users-api/tests/postgresql"
)

// Behind a pooler the second process gets the sessions of the first, with all that is left in them.
func TestASecondProcessStartsBehindAPooler(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	url := server.PgBouncer(t, "default_pool_size=1")(server.NewDatabase(t))
	for _, email := range []string{"first", "second"} {
		storetest.Create(t, openUsers(t, url), email)
	}
}
