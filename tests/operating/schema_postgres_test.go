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
