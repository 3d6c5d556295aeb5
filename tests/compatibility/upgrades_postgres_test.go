//go:build postgres

package compatibility

import (
	"testing"

	"users-api/tests/postgresql"
	"users-api/tests/program"
)

const (
	databases    = "testdata/*/users.sql"
	feedOfBefore = 410 // it goes on
	// made is what commands make for the table users.
	made = `SELECT string_agg(made, '; ' ORDER BY made) FROM (
		SELECT pg_get_triggerdef(oid) AS made FROM pg_trigger WHERE NOT tgisinternal
		UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc WHERE starts_with(proname, 'users_')
		UNION ALL SELECT indexdef FROM pg_indexes WHERE starts_with(tablename, 'users')) AS all_made`
)

// remake are the commands that CHANGELOG.md names.
var remake = [][]string{{"changes", "off"}, {"changes", "on"}, {"index-search"}}

// putBack makes the database of a directory as an earlier version left it.
func putBack(t *testing.T, dump, directory string) {
	t.Helper()
	postgresql.SQL(t, program.DatabaseURL(t, directory), program.ReadFile(t, dump))
}
