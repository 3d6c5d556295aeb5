//go:build postgres

package operating

import (
	"fmt"
	"testing"

	"users-api/tests/postgresql"
	"users-api/tests/program"
)

// Whatever the role or the database sets, commands and requests do the same.
func TestDefaultsOfTheDatabaseChangeNothing(t *testing.T) {
	t.Parallel()
	first := program.Serve(t)
	first.Stop(t)
	url := program.DatabaseURL(t, first.DataDir)
	for setting, value := range map[string]string{
		"standard_conforming_strings": "off", "datestyle": "'SQL, DMY'", "timezone": "'Asia/Kolkata'", "client_encoding": "LATIN1",
		"default_transaction_isolation": "serializable", "lock_timeout": "1", "search_path": `"$user", public, pg_catalog`,
		"bytea_output": "escape", "intervalstyle": "iso_8601", "default_transaction_deferrable": "on", "enable_indexscan": "off",
	} {
		postgresql.SQL(t, url, fmt.Sprintf("DO $$ BEGIN EXECUTE format($s$ALTER DATABASE %%I SET %s = %s$s$, current_database()); END $$", setting, value))
	}
	for _, command := range [][]string{{"ignore-email-case"}, {"add-field", "--unique", "room"}, {"index-search"}, {"changes", "restart"}} {
		first.Run(t, command...).MustSucceed(t)
	}
	p := program.Serve(t, "DATA_DIR="+first.DataDir)
	const name = `100% sure_ \'ly Ä€` + "\x01"
	id := p.Create(t, name, "Ada@example.org")
	p.Do(t, "POST", program.CSV, "name,email\nAlan,\\1\n").Expect(t, 200, program.Imported(1, 0, 0, 0))
	for path, want := range map[string]int{"?q=_+%5C%27LY": 1, "?email=ada@EXAMPLE.org": 1, "?email=%5C1": 1, "": 2} {
		users := p.Do(t, "GET", "/api/users"+path, "").Users(t)
		if len(users) != want || want == 2 && (users[0].Name != name || !program.IsTime(users[0].CreatedAt)) {
			t.Errorf("%q lists %+v", path, users)
		}
	}
	p.Delete(t, id)
}
