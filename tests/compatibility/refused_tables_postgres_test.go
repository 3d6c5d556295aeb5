//go:build postgres

package compatibility

import (
	"testing"

	"users-api/tests/postgresql"
	"users-api/tests/program"
)

const (
	ofAnother = "(id bigserial PRIMARY KEY, name text, email text UNIQUE, created_at timestamptz)"
	ordinary  = "CREATE TABLE users " + ofAnother
)

// refusedTables are tables of other programs that cannot be served, and why.
var refusedTables = map[string]struct{ schema, why string }{
	"a view":              {"CREATE TABLE people " + ofAnother + "; CREATE VIEW users AS SELECT * FROM people", "it is not an ordinary table"},
	"a materialized view": {"CREATE MATERIALIZED VIEW users AS SELECT 1 AS id, '' AS name, '' AS email, now() AS created_at", "it is not an ordinary table"},
	"a partitioned table": {"CREATE TABLE users (id bigserial PRIMARY KEY, name text, email text, created_at timestamptz) PARTITION BY HASH (id)",
		"it is not an ordinary table"},
	"a parent":       {ordinary + "; CREATE TABLE guests () INHERITS (users)", "other tables inherit from it"},
	"a rule":         {ordinary + "; CREATE RULE r AS ON DELETE TO users DO INSTEAD NOTHING", "it has rules"},
	"an id of text":  {"CREATE TABLE users (id text PRIMARY KEY, name text, email text, created_at timestamptz)", "its id is no integer"},
	"an id of bytes": {"CREATE TABLE users (id uuid PRIMARY KEY, name text, email text, created_at timestamptz)", "its id is no integer"},
	"an id that is no key": {"CREATE TABLE users (id bigserial UNIQUE, name text, email text, created_at timestamptz)",
		"its id is no integer that is the primary key"},
	"a key of two columns": {"CREATE TABLE users (id bigserial, name text, email text, created_at timestamptz, PRIMARY KEY (id, email))",
		"its id is no integer that is the primary key"},
	"a name of numbers": {"CREATE TABLE users (id bigserial PRIMARY KEY, name int, email text, created_at timestamptz)", "its column name is of type integer"},
	"a name of bytes":   {"CREATE TABLE users (id bigserial PRIMARY KEY, name bytea, email text, created_at timestamptz)", "its column name is of type bytea"},
	"an email that is computed": {`CREATE TABLE users (id bigserial PRIMARY KEY, name text, created_at timestamptz,
		email text GENERATED ALWAYS AS (lower(name)) STORED)`, "its column email is of type text, generated"},
	"an email whose type ignores the case": {"CREATE EXTENSION citext; CREATE TABLE users (id bigserial PRIMARY KEY, name text, " +
		"email citext UNIQUE, created_at timestamptz)", "its column email is of type citext, and it must be plain text or varchar"},
	"an email whose collation ignores the case": {"CREATE COLLATION same (provider = icu, locale = 'und-u-ks-level2', deterministic = false); " +
		"CREATE TABLE users (id bigserial PRIMARY KEY, name text, email text COLLATE same UNIQUE, created_at timestamptz)",
		"its column email is of type text, with a nondeterministic collation"},
	"a name of a fixed length": {"CREATE TABLE users (id bigserial PRIMARY KEY, name char(40), email text UNIQUE, created_at timestamptz)",
		"its column name is of type character, and it must be plain text or varchar"},
	"a missing column": {"CREATE TABLE users (id bigserial PRIMARY KEY, name text, email text)", "it has no column created_at: add it"},
}

func TestATableThatCannotBeServedEndsTheStartWithOneLine(t *testing.T) {
	t.Parallel()
	for name, table := range refusedTables {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			url := program.DatabaseURL(t, directory)
			postgresql.SQL(t, url, table.schema)
			before := postgresql.Schema(t, url)
			p := program.Launch(t, program.Path(), "DATA_DIR="+directory)
			program.ExpectRefusal(t, p, "the table users cannot be served: ", table.why)
			program.Forbid(t, p.Log(), postgresql.Password)
			if after := postgresql.Schema(t, url); after != before {
				t.Errorf("the schema was\n%s\nand is\n%s", before, after)
			}
		})
	}
}

// Row security hides users from a role, so a list would lack some of them. The owner sees all.
func TestATableThatHidesUsersEndsTheStartOfWhoDoesNotSeeThem(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	url := program.DatabaseURL(t, directory)
	program.Serve(t, "DATABASE_URL="+url).Stop(t)
	as, _ := postgresql.AsAnotherRole(t, url)
	postgresql.SQL(t, url, "ALTER TABLE users ENABLE ROW LEVEL SECURITY", "CREATE POLICY all_of_them ON users USING (true)")
	p := program.Launch(t, program.Path(), "DATABASE_URL="+as)
	program.ExpectRefusal(t, p, "the table users cannot be served: row security hides users from the user in DATABASE_URL")
	program.Serve(t, "DATABASE_URL="+url).Create(t, "Ada", "ada@example.org")
}
