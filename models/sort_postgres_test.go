//go:build postgres

package models

import (
	"testing"

	"users-api/tests/postgresql"
)

func TestOnPostgreSQLTheIndexInTheDocumentsIsOnWhatUsersAreSortedBy(t *testing.T) {
	expectDocumented(t, Database{URL: postgresql.Shared(t).NewDatabase(t)})
}
