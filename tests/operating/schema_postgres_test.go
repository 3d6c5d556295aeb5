//go:build postgres

package operating

import (
	"fmt"
	"strings"
	"testing"

	"users-api/tests/postgresql"
	"users-api/tests/program"
)

const searchIndexes = `FROM pg_stat_user_indexes s JOIN pg_index i USING (indexrelid) JOIN pg_class c ON c.oid = i.indexrelid
	JOIN pg_am m ON m.oid = c.relam WHERE s.relname = 'users' AND m.amname = 'gin' AND i.indisvalid`

// A search without the index would find the same users.
func TestSearchesUseTheIndexThatTheCommandHasMade(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	other := program.OpenOther(t, p.DatabasePath())
	other.Fill(20_000)
	expectDone(t, p.Run(t, "index-search"), indexing, indexed)
	p.Stop(t)
	p = program.Serve(t, "DATA_DIR="+p.DataDir)
	program.WaitFor(t, "a search uses the indexes of both fields", func() bool {
		p.Do(t, "GET", "/api/users?q=user19999@", "")
		return other.Ask("SELECT (count(*) = 2)::text "+searchIndexes+" AND s.idx_scan > 0") == "true"
	})
	expectDone(t, p.Run(t, "index-search", "--drop"), dropping, droppedIndex)
	program.Expect(t, "how many indexes are left", other.Ask("SELECT count(*)::text "+searchIndexes), "0")
}

// A role that may write users may not be their owner.
func TestARoleThatIsNotTheOwnerIsToldSo(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	url := program.DatabaseURL(t, p.DataDir)
	settings := []string{"DATABASE_URL=" + postgresql.AsAnotherRole(t, url)}
	postgresql.SQL(t, url, "CREATE EXTENSION pg_trgm")
	for _, command := range []string{"add-field room", "add-field --unique room", "ignore-email-case", "index-search"} {
		program.RunWith(t, settings, nil, strings.Fields(command)...).ExpectFailure(t, "…", "name the owner of the table in DATABASE_URL")
	}
	expectColumns(t, p, "")
}

// changesOfBefore are what earlier versions have recorded changes with.
var changesOfBefore = []string{"DROP TABLE users_changes",
	"CREATE TABLE users_changes (xid xid8 DEFAULT pg_current_xact_id(), seq bigserial, op text, id bigint, at timestamptz)",
	"CREATE FUNCTION users_changes_record() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
	"CREATE TRIGGER users_changes_created AFTER INSERT ON users FOR EACH STATEMENT EXECUTE FUNCTION users_changes_record()"}

const byTheOwner = "let the owner of users run `users-api changes restart` once, with a DATABASE_URL of its own"

// A role that may write users may neither own nor create a table. The owner does once what a start cannot do then.
func TestAnotherRoleStartsOnceTheOwnerHasMadeWhatItNeeds(t *testing.T) {
	t.Parallel()
	for says, left := range map[string][]string{
		"permission denied for schema public: " + byTheOwner:            {"DROP TABLE users_changes"},
		"must be owner of function users_changes_record: " + byTheOwner: changesOfBefore,
		"permission denied for table users_changes: " + byTheOwner:      nil,
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			owner := program.Serve(t)
			owner.Create(t, "Ada", "ada@example.org")
			owner.Stop(t)
			url := program.DatabaseURL(t, owner.DataDir)
			as := "DATABASE_URL=" + postgresql.AsAnotherRole(t, url)
			postgresql.SQL(t, url, left...)
			program.ExpectRefusal(t, program.Launch(t, program.Path(), as), says, "`users-api changes restart`")
			owner.Run(t, "changes", "restart").MustSucceed(t)
			p := program.Serve(t, as)
			p.Change(t, 1, `{"name":"Ada King"}`)
			p.Delete(t, 1)
			p.Do(t, "GET", "/api/users/1/changes", "").Expect(t, 200, `{"changes":[{…"op":"deleted",…},{…"op":"changed",…}…]}`)
			p.Do(t, "POST", "/api/users/1/restore", "").Expect(t, 201, `{"id":1,"name":"Ada King",…}`)
			p.Do(t, "DELETE", "/api/users/1/changes", "").Expect(t, 204, "")
		})
	}
}

// What writes to users holds up the start that removes the triggers of an earlier version, and is not waited for much longer
// than a write would.
func TestAStartThatCannotRemoveWhatAnEarlierVersionMadeSaysSo(t *testing.T) {
	t.Parallel()
	first := program.Serve(t)
	first.Create(t, "Ada", "ada@example.org")
	first.Stop(t)
	postgresql.SQL(t, program.DatabaseURL(t, first.DataDir), changesOfBefore...)
	other := program.OpenOther(t, first.DatabasePath())
	other.Do("BEGIN", "UPDATE users SET name = 'n'")
	program.ExpectRefusal(t, program.Launch(t, program.Path(), "DATA_DIR="+first.DataDir),
		"canceling statement due to lock timeout: "+byTheOwner, "look that nothing holds users locked")
	other.LetGo()
	p := program.Serve(t, "DATA_DIR="+first.DataDir)
	program.Expect(t, "the log", p.Log(), "…what an earlier version has made was removed…users_changes_record()…TABLE users_changes…")
	p.Create(t, "Alan", "alan@example.org")
	program.Expect(t, "how many triggers are left", other.Ask("SELECT count(*)::text FROM pg_trigger WHERE NOT tgisinternal"), "0")
	p.Do(t, "GET", "/api/users/2/changes", "").Expect(t, 200, `{"changes":[{…"op":"created","id":2,…}]}`)
}

// Whatever the role or the database sets, commands and requests do the same.
func TestDefaultsOfTheDatabaseChangeNothing(t *testing.T) {
	t.Parallel()
	first := program.Serve(t)
	program.OpenOther(t, first.DatabasePath()).Fill(1000)
	first.Stop(t)
	url := program.DatabaseURL(t, first.DataDir)
	for setting, value := range map[string]string{
		"standard_conforming_strings": "off", "datestyle": "'SQL, DMY'", "timezone": "'Asia/Kolkata'", "client_encoding": "LATIN1",
		"default_transaction_isolation": "serializable", "lock_timeout": "1", "search_path": `"$user", public, pg_catalog`,
		"bytea_output": "escape", "intervalstyle": "iso_8601", "default_transaction_deferrable": "on", "enable_indexscan": "off",
		"quote_all_identifiers": "on", "gin_fuzzy_search_limit": "1", "enable_seqscan": "off",
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
	for path, want := range map[string]int{"?q=_+%5C%27LY": 1, "?email=ada@EXAMPLE.org": 1, "?email=%5C1": 1, "?q=USER": 1000, "": 1002} {
		users := p.Do(t, "GET", "/api/users"+path, "").Users(t)
		if len(users) != want || path == "" && (users[1000].Name != name || !program.IsTime(users[1000].CreatedAt)) {
			t.Errorf("%q lists %d users: %.1000v", path, len(users), users)
		}
	}
	p.Delete(t, id)
}
