//go:build postgres

package compatibility

import (
	"testing"

	"users-api/tests/postgresql"
	"users-api/tests/program"
)

const (
	ordinaryID = "id bigserial PRIMARY KEY"
	noID       = "its id is no integer that is the primary key"
)

var refusedTables = map[string]refusedTable{
	"a view": {"CREATE VIEW users AS SELECT 1 AS id, '' AS name, '' AS email, now() AS created_at",
		"it is not an ordinary table"},
	"a partitioned table": {with("id bigserial") + " PARTITION BY HASH (id)", "it is not an ordinary table"},
	"a parent": {with(ordinaryID) + "; CREATE TABLE guests () INHERITS (users)",
		"other tables inherit from it, so that two users may have one id: change that, or give users-api a database"},
	"a rule":               {with(ordinaryID) + "; CREATE RULE r AS ON DELETE TO users DO NOTHING", "it has rules"},
	"an id of text":        {with("id text PRIMARY KEY"), noID},
	"an id that is no key": {with("id bigserial UNIQUE"), noID},
	"a key of two columns": {with("id bigserial, place text, PRIMARY KEY (id, place)"), noID},
	"a missing column": {"CREATE TABLE users (id bigserial PRIMARY KEY, name text, email text)",
		"it has no column created_at: add it"},
	"a field of numbers": {with("id bigserial PRIMARY KEY, room int"),
		"its column room is of type integer, and it must be plain text or varchar"},
	"a field of a fixed length": {with("id bigserial PRIMARY KEY, room char(4)"),
		"its column room is of type character, and it must be plain text or varchar"},
	"a field whose type ignores the case": {"CREATE EXTENSION citext; " + with("id bigserial PRIMARY KEY, room citext"),
		"its column room is of type citext, and it must be plain text or varchar"},
	"a field of a domain of such a type": {"CREATE EXTENSION citext; CREATE DOMAIN side AS citext; " +
		with("id bigserial PRIMARY KEY, room side"), "its column room is of type side"},
	"an email that is computed": {`CREATE TABLE users (id bigserial PRIMARY KEY, name text, created_at timestamptz,
		email text GENERATED ALWAYS AS (lower(name)) STORED)`, "its column email is of type text, generated"},
	"an email whose collation ignores the case": {with(ordinaryID) +
		"; CREATE COLLATION same (provider = icu, locale = 'und-u-ks-level2', deterministic = false); " +
		"ALTER TABLE users ALTER COLUMN email TYPE text COLLATE same",
		"its column email is of type text, with a nondeterministic collation"},
}

// with is a table with some columns and those of texts and of the time.
func with(columns string) string {
	return "CREATE TABLE users (" + columns + ", name text, email text, created_at timestamptz)"
}

// Row security hides users from a role, so a list would lack some of them. The owner sees all.
func TestATableThatHidesUsersEndsTheStartOfWhoDoesNotSeeThem(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	url := program.DatabaseURL(t, p.DataDir)
	as := postgresql.AsAnotherRole(t, url)
	postgresql.SQL(t, url, "ALTER TABLE users ENABLE ROW LEVEL SECURITY",
		"CREATE POLICY all_of_them ON users USING (true)")
	program.ExpectRefusal(t, program.Launch(t, program.Path(), "DATABASE_URL="+as),
		"the table users cannot be served: row security hides users from the user in DATABASE_URL")
	program.Serve(t, "DATABASE_URL="+url).Create(t, "Ada", "ada@example.org")
}
