// Package backups proves that a backup has every user, that a restore leaves the old or the new database, and that neither harms
// the service or the files of other programs.
package backups

import (
	"testing"

	"users-api/tests/program"
)

func TestMain(m *testing.M) { program.Main(m) }
