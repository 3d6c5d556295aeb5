//go:build postgres

package database

import (
	"testing"

	"users-api/tests/postgresql"
)

func TestPostgreSQLFoldsAsGoDoes(t *testing.T) {
	expectFolds(t, Location{URL: postgresql.Shared(t).NewDatabase(t)})
}
