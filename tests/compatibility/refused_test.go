package compatibility

import (
	"path/filepath"
	"strings"
	"testing"

	"users-api/tests/program"
)

// refusedTable is a table of another program that cannot be served, and why.
type refusedTable struct{ schema, why string }

func TestATableThatCannotBeServedEndsTheStartWithOneLine(t *testing.T) {
	t.Parallel()
	for name, table := range refusedTables {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory, settings := t.TempDir(), []string(nil)
			program.OpenOther(t, filepath.Join(directory, "users.db")).Do(table.schema)
			if strings.Contains(strings.ToLower(table.schema), "room") {
				settings = []string{"USER_FIELDS=room"}
			}
			p := program.Launch(t, program.Path(), append(settings, "DATA_DIR="+directory)...)
			program.ExpectRefusal(t, p, "the table users cannot be served: "+table.why)
		})
	}
}

// SQLite takes an unknown name in double quotes for a text: a column that is gone would be shown as its own name.
func TestAColumnThatIsGoneIsNeverShownAsItsName(t *testing.T) {
	t.Parallel()
	for _, column := range []string{"room", "created_at"} {
		p := program.ServeFeed(t, "USER_FIELDS=room")
		p.Do(t, "POST", "/api/users", `{"name":"Ada","email":"ada@example.org","room":"12"}`).Expect(t, 201, "…")
		p.Do(t, "GET", "/api/changes?wait=10", "").Expect(t, 200, `{"changes":[{…`)
		program.OpenOther(t, p.DatabasePath()).Do("ALTER TABLE users RENAME COLUMN " + column + " TO old")
		for range 50 { // while the description of the table is of the last second, and afterwards
			for _, path := range []string{"changes", "users/1", "users", "users?limit=1&q=12", "users.csv",
				"users?limit=1&email=ada@example.org", "users?limit=1&room=12"} {
				p.Do(t, "GET", "/api/"+path, "").Expect(t, 500, "…"+column+"…")
			}
		}
	}
}
