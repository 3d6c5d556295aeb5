//go:build postgres

package compatibility

import (
	"testing"

	"users-api/tests/postgresql"
	"users-api/tests/program"
)

// schemaOf returns the definitions of everything in the database of a directory.
func schemaOf(t *testing.T, directory string, _ *program.Other) string {
	t.Helper()
	return postgresql.Schema(t, program.DatabaseURL(t, directory))
}
