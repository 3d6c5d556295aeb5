//go:build postgres

package models

import (
	"testing"

	"users-api/tests/postgresql"
)

func TestInsidePostgreSQL(t *testing.T) {
	expectEngine(t, Database{URL: postgresql.Shared(t).NewDatabase(t)})
}
