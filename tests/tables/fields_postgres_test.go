//go:build postgres

package tables

import (
	"testing"

	"users-api/tests/program"
)

const (
	tableWithRoom = `CREATE EXTENSION IF NOT EXISTS citext; CREATE TYPE mood AS ENUM ('ok'); CREATE DOMAIN floor AS text;
		CREATE TABLE users (id bigserial PRIMARY KEY, %s, name text, email text UNIQUE, created_at timestamptz DEFAULT now())`
	storedRoom = "SELECT pg_typeof(room)::text || ' ' || quote_nullable(room) FROM users WHERE id = 1"
)

// Columns that are served, a value that another program stored, and how it is shown; and how a 12 is shown.
var roomColumns = []struct{ name, column, stored, shown, twelve string }{
	{"text", "room text", "'7'", `"7"`, `"12"`},
	{"NULL", "room text", "NULL", "null", `"12"`},
	{"varchar", "room varchar", "'7'", `"7"`, `"12"`},
	{"varchar of a length", "room varchar(2)", "'7'", `"7"`, `"12"`},
	{"char", "room char(4)", "'7'", `"7"`, `"12"`},
	{"citext", "room citext", "'a'", `"a"`, `"12"`},
	{"a domain of text", "room floor", "'7'", `"7"`, `"12"`},
}

var refusedRooms = []struct{ name, column, says string }{
	{"a number", "room integer", "integer"},
	{"a truth value", "room boolean", "boolean"},
	{"JSON", "room jsonb", "jsonb"},
	{"bytes", "room bytea", "bytea"},
	{"a time", "room timestamptz", "timestamp with time zone"},
	{"an array", "room text[]", "text[]"},
	{"an enumeration", "room mood", "mood"},
	{"a column that is computed", "other text, room text GENERATED ALWAYS AS (upper(other)) STORED", "generated"},
}

func TestAColumnThatIsNoFieldEndsTheStart(t *testing.T) {
	t.Parallel()
	for _, test := range refusedRooms {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			directory, _ := withRoom(t, test.column)
			program.ExpectRefusal(t, program.Launch(t, program.Path(), directory, "USER_FIELDS=room"), "room", test.says)
		})
	}
}
