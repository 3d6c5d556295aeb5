//go:build !postgres

package compatibility

import (
	"testing"

	"users-api/tests/program"
)

// schemaOf returns the definitions of everything in the database of a directory.
func schemaOf(_ *testing.T, _ string, other *program.Other) string {
	return other.Ask("SELECT group_concat(type || name || sql, char(10)) FROM sqlite_master")
}
