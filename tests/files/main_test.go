// Package files proves imports and exports, backups and restores: what they accept and write, that an import is stored completely
// or not at all, that a backup has every user and a restore leaves the old or the new database, that neither harms the service or
// the files of other programs, and that a copy to PostgreSQL has every user or none.
package files

import (
	"testing"

	"users-api/tests/program"
)

func TestMain(m *testing.M) { program.Main(m) }
