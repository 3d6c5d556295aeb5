//go:build postgres

package files

import (
	"testing"

	"users-api/tests/program"
)

// importHeld is what an import is told that another program's lock holds up.
const importHeld = "canceling statement due to lock timeout (SQLSTATE 55P03)"

// exported are users as an export must be able to write them.
var exported = []string{
	"CREATE TABLE users (id bigserial PRIMARY KEY, name text, email text UNIQUE, created_at timestamptz)",
	`INSERT INTO users VALUES (1, 'Ada', 'ada', '2026-11-20 15:42:07Z'), (2, 'King, "Martin"', 'king', '2026-11-20T16:42:07+01'),
		(5, '=1+2', '''@x', NULL), (7, 'A' || chr(13) || chr(10) || 'B', 'lines', NULL)`,
}

// slowTable makes users so slow to store that an import of many takes minutes. Some are in its transaction soon.
var slowTable = []string{
	"CREATE FUNCTION r() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.01); RETURN NULL; END $$",
	"CREATE TRIGGER r AFTER INSERT ON users FOR EACH ROW WHEN (NEW.id > 20) EXECUTE FUNCTION r()",
}

// refusing makes the table refuse users with one name.
var refusing = []string{
	`CREATE FUNCTION r() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF NEW.name = 'Bad' THEN RAISE check_violation USING MESSAGE = 'no Bad users'; END IF; RETURN NEW; END $$`,
	"CREATE TRIGGER r BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION r()",
}

// readsNothing reports whether the program reads nothing at the moment.
func readsNothing(_ *testing.T, _ *program.Program, other *program.Other) bool {
	return other.Ask(`SELECT (count(*) = 0)::text FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_xmin IS NOT NULL`) == "true"
}
