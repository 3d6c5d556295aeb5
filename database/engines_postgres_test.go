//go:build postgres

package database

import (
	"testing"

	"users-api/tests/postgresql"
)

func TestInsidePostgreSQL(t *testing.T) {
	expectEngine(t, Location{URL: postgresql.Shared(t).NewDatabase(t)})
}
