//go:build postgres

package operating

import (
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

// The owner of a server may refuse what a command needs, in the middle of it.
func TestAChangeOfTheSchemaThatPostgreSQLRefusesIsNotSaidToBeDone(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	other := program.OpenOther(t, p.DatabasePath())
	other.Do("ALTER TABLE users ADD COLUMN city TEXT", `CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS
		'BEGIN RAISE EXCEPTION ''not allowed here''; END'`)
	const table = `SELECT string_agg(attname, ',' ORDER BY attnum) || (SELECT count(*) FROM pg_index WHERE indrelid = a.attrelid)
		FROM pg_attribute a WHERE attrelid = 'users'::regclass AND attnum > 0 AND NOT attisdropped GROUP BY attrelid`
	for _, test := range []struct{ command, statement string }{
		{"add-field room", "ALTER TABLE"},
		{"add-field updated_at", "ALTER TABLE"},
		{"add-field --unique room", "ALTER TABLE"},
		{"add-field --unique city", "CREATE INDEX"},
		{"ignore-email-case", "CREATE INDEX"},
		{"index-search", "CREATE EXTENSION"},
		{"index-search", "CREATE INDEX"},
		{"index-search", "COMMENT"},
		{"index-search --drop", "DROP INDEX"},
	} {
		t.Run(test.command+" without "+test.statement, func(t *testing.T) {
			o := other.On(t)
			if test.statement == "DROP INDEX" {
				p.Run(t, "index-search").MustSucceed(t)
			}
			before := o.Ask(table)
			o.Do("CREATE EVENT TRIGGER refuse ON ddl_command_start WHEN TAG IN ('" + test.statement + "') EXECUTE FUNCTION refuse()")
			refused := p.Run(t, strings.Fields(test.command)...)
			o.Do("DROP EVENT TRIGGER refuse")
			refused.ExpectFailure(t, "…", "not allowed here")
			program.Expect(t, "what the table has", o.Ask(table), before)
		})
	}
	p.Create(t, "Ada", "ada")
	for _, command := range []string{"index-search --drop", "add-field --unique room", "ignore-email-case", "index-search"} {
		p.Run(t, strings.Fields(command)...).MustSucceed(t)
	}
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
