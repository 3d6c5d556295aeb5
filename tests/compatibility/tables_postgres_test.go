//go:build postgres

package compatibility

import (
	"testing"

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
	"a day and varchar":     "(id int8 PRIMARY KEY, name varchar, email varchar(40) UNIQUE, created_at date)",
	"a time as text":        "(a int, id bigserial PRIMARY KEY, b text, name text, email text, created_at text, z int)",
}

var oddUsers = []oddUser{
	{"-3, NULL, NULL, NULL", `{"id":-3,"name":"","email":"","created_at":""}`, true},
	{"6, repeat('n', 100000), '42', '0001-01-01'",
		`{"id":6,"name":"nnn…nnn","email":"42","created_at":"0001-01-01 00:00:00"}`, false},
	{"7, 'a' || chr(31) || 'b', 'a' || chr(1) || 'b', '1899-12-31T23:59:59Z'",
		`{"id":7,"name":"a\u001fb","email":"a\u0001b","created_at":"1899-12-31 …"}`, false},
	{"8, '<&>\"', chr(8232), '2024-01-02 03:04:05.678+02:00'",
		`{"id":8,"name":"<&>\"","email":"\u2028","created_at":"2024-01-02 0…"}`, false},
	{"9223372036854775806, chr(65533), '', '9999-12-31'",
		`{"id":9223372036854775806,"name":"` + "\ufffd" + `","email":"","created_at":"9999-12-31 00:00:00"}`, true},
}

// fieldTypes are types of columns that are served as fields. The last one is a domain of varchar.
var fieldTypes = []string{"text", "varchar(2)", "information_schema.character_data"}
