//go:build postgres

package compatibility

import (
	"crypto/rand"
	"fmt"
	"net/url"
	"testing"
	"time"

	"users-api/tests/postgresql"
	"users-api/tests/program"
)

// The tables of other programs.
var foreignSchemas = map[string]string{
	"as Sequelize has it": `CREATE TABLE users (id serial PRIMARY KEY, name varchar(255) NOT NULL,
		email varchar(255) NOT NULL UNIQUE, created_at timestamp with time zone DEFAULT now())`,
	"as Rails has it": `CREATE TABLE users (id bigserial PRIMARY KEY, email character varying, name character varying,
		created_at timestamp(6) without time zone DEFAULT now() NOT NULL,
		updated_at timestamp(6) without time zone DEFAULT now() NOT NULL);
		CREATE UNIQUE INDEX by_email ON users (email)`,
	"with other columns": `CREATE TABLE users (fax text DEFAULT '-', id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
		name text, email text UNIQUE, tags text[] DEFAULT '{}', created_at timestamptz DEFAULT now(), deleted_at date,
		upper_name text GENERATED ALWAYS AS (upper(name)) STORED)`,
	"in another schema": `CREATE SCHEMA own; SET search_path = own;
		DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = own', current_database()); END $$;
		CREATE TABLE users (id serial PRIMARY KEY, name text, email text UNIQUE, created_at timestamptz DEFAULT now())`,
}

// audits are what another program has beside its users: an index, and a trigger that notes creations.
var audits = []string{
	"CREATE INDEX by_name ON users (name)", "CREATE TABLE audit (what text)",
	trigger("AFTER INSERT", "INSERT INTO audit VALUES (NEW.email)"),
}

// schemaOf returns the definitions of everything in the database of a directory.
func schemaOf(t *testing.T, directory string, _ *program.Other) string {
	t.Helper()
	return postgresql.Schema(t, program.DatabaseURL(t, directory))
}

var oddTables = map[string]string{
	"a time with a zone":    "(id bigint PRIMARY KEY, name text, email text, created_at timestamptz)",
	"a time without a zone": "(id serial8 PRIMARY KEY, name text, email text, created_at timestamp)",
	"a time with fractions": "(id bigserial PRIMARY KEY, name text, email text, created_at timestamptz(6))",
	"varchar":               "(a int, id int8 PRIMARY KEY, name varchar, b text, email varchar(40) UNIQUE, created_at timestamptz, z int)",
}

var oddUsers = []oddUser{
	{"-3, NULL, NULL, NULL", `{"id":-3,"name":"","email":"","created_at":""}`, true},
	{"0, repeat('n', 100000), '42', '0001-01-01'",
		`{"id":0,"name":"nnn…nnn","email":"42","created_at":"0001-01-01 00:00:00"}`, false},
	{"7, 'a' || chr(31) || 'b', 'a' || chr(1) || 'b', '1899-12-31T23:59:59Z'",
		`{"id":7,"name":"a\u001fb","email":"a\u0001b","created_at":"1899-12-31 …"}`, false},
	{"8, '<&>\"', chr(8232), '2024-01-02 03:04:05.678+02:00'",
		`{"id":8,"name":"<&>\"","email":"\u2028","created_at":"2024-01-02 0…"}`, false},
	{"9223372036854775806, chr(65533), '', '9999-12-31'",
		`{"id":9223372036854775806,"name":"` + "\ufffd" + `","email":"","created_at":"9999-12-31 00:00:00"}`, true},
}

// fieldTypes are types of columns that are served as fields.
var fieldTypes = []string{"text", "varchar(2)"}

// trigger is a trigger on users and its function, which returns the row, or NULL to ignore it.
func trigger(when, body string) string {
	return fmt.Sprintf(`CREATE FUNCTION r() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN %s; RETURN coalesce(NEW, OLD); END $$;
		CREATE TRIGGER r %s ON users FOR EACH ROW EXECUTE FUNCTION r()`, body, when)
}

// rulesFor returns the rules for what a write does to the table: INSERT, UPDATE or DELETE.
func rulesFor(event string) []rule {
	const (
		ifBad   = "IF coalesce(NEW.name, OLD.name) = 'bad' THEN INSERT INTO trace VALUES ('left'); %s; END IF"
		ofNames = `CREATE TABLE names (name text PRIMARY KEY);
			INSERT INTO names SELECT 'n' || i FROM generate_series(0, 20) i;
			ALTER TABLE users ADD FOREIGN KEY (name) REFERENCES names NOT VALID`
		isTaken = `duplicate key value violates unique constraint "%s"`
	)
	raises := fmt.Sprintf(ifBad, "RAISE 'not him'")
	rules := []rule{
		{"a trigger that raises afterwards", "not him", []string{trigger("AFTER "+event, raises)}},
		{"a trigger that raises when its transaction commits", "not him", []string{fmt.Sprintf(`
			CREATE FUNCTION r() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN %s; RETURN NULL; END $$;
			CREATE CONSTRAINT TRIGGER r AFTER %s ON users DEFERRABLE INITIALLY DEFERRED
			FOR EACH ROW EXECUTE FUNCTION r()`, raises, event)}},
		{"a trigger that ignores", ignored, []string{
			trigger("BEFORE "+event, "IF coalesce(NEW.name, OLD.name) = 'bad' THEN RETURN NULL; END IF")}},
	}
	switch event {
	case "INSERT":
		rules = append(rules,
			rule{uniqueNames, fmt.Sprintf(isTaken, "users_name_key"), []string{
				"ALTER TABLE users ADD UNIQUE (name)", "INSERT INTO users (name, email) VALUES ('bad', '')"}},
			rule{"a foreign key that is looked at at the commit", "violates foreign key constraint", []string{
				ofNames + " DEFERRABLE INITIALLY DEFERRED"}})
	case "UPDATE":
		rules = append(rules, rule{"a check", "violates check constraint", []string{
			"ALTER TABLE users ADD CHECK (name <> 'bad')"}})
	case "DELETE":
		rules = append(rules, rule{"another table's foreign key", "violates foreign key constraint", []string{
			"CREATE TABLE orders (buyer bigint REFERENCES users)", "INSERT INTO orders VALUES (8), (14)"}})
	}
	return rules
}

// ignoresWrites ignores changes of the first user, and that it is deleted.
var ignoresWrites = []string{trigger("BEFORE UPDATE OR DELETE", "IF OLD.id = 1 THEN RETURN NULL; END IF")}

const (
	ordinaryID = "id bigserial PRIMARY KEY"
	timeType   = "timestamptz"
	noID       = "its id is no integer that is the primary key"
)

var refusedTables = map[string]refusedTable{
	"a view": {"CREATE VIEW users AS SELECT 1 AS id, '' AS name, '' AS email, now() AS created_at",
		"it is not an ordinary table"},
	"a partitioned table":  {with("id bigserial") + " PARTITION BY HASH (id)", "it is not an ordinary table"},
	"an id that is no key": {with("id bigserial UNIQUE"), noID},
	"a missing column": {"CREATE TABLE users (id bigserial PRIMARY KEY, name text, email text)",
		"it has no column created_at, spelled so: add it"},
	"a field of numbers": {with("id bigserial PRIMARY KEY, room int"),
		"its column room is of type integer, and must be text or varchar"},
	"a field of a domain of such a type": {"CREATE EXTENSION citext; CREATE DOMAIN side AS citext; " +
		with("id bigserial PRIMARY KEY, room side"), "its column room is of type side"},
}

// with is a table with some columns and those of texts and of the time.
func with(columns string) string {
	return "CREATE TABLE users (" + columns + ", name text, email text, created_at timestamptz)"
}

const (
	databases = "testdata/*/users.sql"
	// made is what a start and commands make for the table users.
	made = `SELECT string_agg(made, '; ' ORDER BY made) FROM (
		SELECT pg_get_triggerdef(oid) AS made FROM pg_trigger WHERE NOT tgisinternal
		UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc WHERE starts_with(proname, 'users_')
		UNION ALL SELECT left(indexdef, 99) FROM pg_indexes WHERE starts_with(tablename, 'users')
		UNION ALL SELECT attrelid::regclass || ' ' || attname || ' ' || format_type(atttypid, atttypmod) FROM pg_attribute
			WHERE attrelid = to_regclass('users_changes') AND attnum > 0 AND NOT attisdropped) AS all_made`
)

// putBack makes the database of a directory as an earlier version left it.
func putBack(t *testing.T, dump, directory string) {
	t.Helper()
	postgresql.SQL(t, program.DatabaseURL(t, directory), program.ReadFile(t, dump))
}

// What PostgreSQL does in another way than SQLite, and what docs/postgresql.md says of it.

// An index of PostgreSQL holds no value of more than a third of a page.
func TestAnEmailThatIsTooLongForTheIndexIsRefused(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	long := ""
	for len(long) < 6000 {
		long += rand.Text() // which PostgreSQL cannot compress
	}
	p.Do(t, "POST", "/api/users", program.Body("Ada", long)).Expect(t, 500, "…(SQLSTATE 54000)…")
	p.ExpectUsers(t)
}

// A sequence does not know which ids another program has chosen.
func TestAnIDThatAnotherProgramChoseMayBeGivenAgainAndIsRefused(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	program.OpenOther(t, p.DatabasePath()).Do("INSERT INTO users (id, name, email) VALUES (1, 'n', 'other')")
	p.Do(t, "POST", "/api/users", program.Body("Ada", "ada@example.org")).Expect(t, 500,
		`…duplicate key value violates unique constraint \"users_pkey\"…`)
	program.Expect(t, "the id of the second creation", p.Create(t, "Ada", "ada@example.org"), 2)
}

// Names that are not written in quotes are in lower case, so that "Users" is another table.
func TestATableInAnotherLetterCaseIsAnotherTable(t *testing.T) {
	t.Parallel()
	p, other := program.ServeFile(t, `CREATE TABLE "Users" (name text)`, `INSERT INTO "Users" VALUES ('n')`)
	p.ExpectUsers(t)
	program.Expect(t, "the tables", other.Ask("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), 3)
}

// A table may give ids in any order.
func TestTheIDThatIsAnsweredIsTheOneThatIsStored(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"bigint GENERATED BY DEFAULT AS IDENTITY (INCREMENT -1)", "bigint DEFAULT -(random() * 1e15)::bigint"} {
		p, other := program.ServeFile(t, with("id "+id+" PRIMARY KEY"))
		for i := range 5 {
			answer := p.Do(t, "POST", "/api/users", program.Body("n", fmt.Sprint(i)))
			answer.Expect(t, 201, `{"id":`+other.Ask(fmt.Sprintf("SELECT id::text FROM users WHERE email = '%d'", i))+`,…`)
		}
		want := other.Ask("SELECT string_agg('{\"id\":' || id, ',…' ORDER BY id) FROM users")
		p.Do(t, "GET", "/api/users", "").Expect(t, 200, "["+want+"…]")
	}
}

func TestTheColumnOfTimesMayHaveSeveralTypes(t *testing.T) {
	t.Parallel()
	for _, created := range []string{"timestamptz", "timestamp", "timestamptz(3) DEFAULT now()"} {
		p, _ := program.ServeFile(t, "CREATE TABLE users (id serial PRIMARY KEY, name text, email text, created_at "+created+")")
		p.Create(t, "Ada", "ada")
		stored, err := time.Parse(time.DateTime, p.List(t)[0].CreatedAt)
		program.Must(t, err)
		if age := time.Since(stored); age > 25*time.Hour || age < 0 {
			t.Errorf("in a %s, the user was created %s ago", created, age)
		}
		const high = "1099511627776" // an id that no integer holds
		for query, found := range map[string]string{
			"created_from=": "[{…}]", "created_to=": "[]", "limit=1&sort=created_at&created_from=": "[{…}]", "after=" + high + "&created_from=": "[]",
		} {
			p.Do(t, "GET", "/api/users?"+query+url.QueryEscape(stored.Format(time.DateTime)), "").Expect(t, 200, found)
		}
		p.Do(t, "GET", "/api/users/"+high, "").Expect(t, 404, "…")
	}
}
