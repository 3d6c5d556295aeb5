//go:build postgres

package postgres

import "fmt"

// tableOf returns the statement for a table of another program whose columns are of these types, with more behind them.
func tableOf(name, email, more string) string {
	return fmt.Sprintf("CREATE TABLE users (id serial PRIMARY KEY, name %s, email %s, created_at timestamptz%s);",
		name, email, more)
}

// triggerOf returns the statements for a function and a trigger that calls it.
func triggerOf(when, body string) string {
	return "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " + body + " END $$;" +
		"CREATE TRIGGER t " + when + " EXECUTE FUNCTION f();"
}

var (
	ordinary = tableOf("text", "text UNIQUE", "")
	noting   = ordinary + "CREATE TABLE log (what text);"
)

const (
	before = "BEFORE INSERT ON users FOR EACH ROW"
	after  = "AFTER INSERT ON users FOR EACH ROW"
)

// tables are tables of other programs, whose rules do something to some of the users a, b, c, A and bad.
var tables = map[string]string{
	"an ordinary table":      ordinary,
	"a trigger that notes":   noting + triggerOf(after, "INSERT INTO log VALUES (new.name); RETURN NULL;"),
	"a trigger that changes": ordinary + triggerOf(before, "new.name := upper(new.name); RETURN new;"),
	"a trigger that refuses": ordinary + triggerOf(before,
		"IF new.name = 'bad' THEN RAISE 'not him'; END IF; RETURN new;"),
	"a trigger that ignores":    ordinary + triggerOf(before, "IF new.name = 'bad' THEN RETURN NULL; END IF; RETURN new;"),
	"a trigger that takes away": ordinary + triggerOf(after, "DELETE FROM users WHERE name = 'bad'; RETURN NULL;"),
	"a trigger that changes ids": ordinary + triggerOf(after,
		"UPDATE users SET id = id + 100 WHERE id = new.id; RETURN NULL;"),
	"a rule for values":        tableOf("text CHECK (name <> 'bad')", "text UNIQUE", ""),
	"names that are short":     tableOf("varchar(2)", "varchar(2) UNIQUE", ""),
	"emails of a fixed length": tableOf("text", "char(2) UNIQUE", ""),
	"emails without an index":  tableOf("text", "text", ""),
	"emails of a partial index": tableOf("text", "text", "") +
		"CREATE UNIQUE INDEX ON users (email) WHERE name <> 'a'",
	"emails checked at the end": tableOf("text", "text UNIQUE DEFERRABLE", ""),
	"emails in any letter case": tableOf("text", "text", "") + "CREATE UNIQUE INDEX ON users (lower(email))",
	"emails of type citext":     "CREATE EXTENSION citext;" + tableOf("text", "citext UNIQUE", ""),
	"emails of another language": "CREATE COLLATION c " +
		"(provider = icu, locale = 'und-u-ks-level2', deterministic = false);" +
		tableOf("text", "text COLLATE c UNIQUE", ""),
	"emails of a domain":      "CREATE DOMAIN mail AS text CHECK (VALUE <> 'bad');" + tableOf("text", "mail UNIQUE", ""),
	"names that are unique":   tableOf("text UNIQUE", "text", ""),
	"a column that is needed": tableOf("text", "text UNIQUE", ", more text NOT NULL"),
	"a table with partitions": "CREATE TABLE users (id serial PRIMARY KEY, name text, email text, created_at timestamptz) " +
		"PARTITION BY RANGE (id); CREATE TABLE p1 PARTITION OF users FOR VALUES FROM (0) TO (3);" +
		"CREATE TABLE p2 PARTITION OF users FOR VALUES FROM (3) TO (4)",
}
