//go:build postgres

package models

import (
	"testing"

	"users-api/tests/postgresql"
)

func TestOnPostgreSQLATransactionInsideAnotherIsASavepoint(t *testing.T) {
	expectSavepoints(t, Database{URL: postgresql.Shared(t).NewDatabase(t)})
}
