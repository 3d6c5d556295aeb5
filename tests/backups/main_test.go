// Package backups proves that a backup has every user, that a restore leaves the old or the new database, that neither harms the
// service or the files of other programs, and that a copy to PostgreSQL has every user or none.
package backups

import (
	"testing"

	"users-api/tests/program"
)

func TestMain(m *testing.M) { program.Main(m) }
