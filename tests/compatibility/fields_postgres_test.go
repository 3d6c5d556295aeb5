//go:build postgres

package compatibility

const (
	tableWithRoom = `CREATE EXTENSION IF NOT EXISTS citext; CREATE TYPE mood AS ENUM ('ok'); CREATE DOMAIN floor AS text;
		CREATE DOMAIN wing AS varchar(4); CREATE DOMAIN side AS citext;
		CREATE TABLE users (id bigserial PRIMARY KEY, %s, name text, email text UNIQUE, created_at timestamptz DEFAULT now())`
	storedRoom = "SELECT pg_typeof(room)::text || ' ' || quote_nullable(room) FROM users WHERE id = 1"
)

// Columns that are served, a value that another program stored, and how it is shown; and how a 12 is shown.
var roomColumns = []struct{ name, column, stored, shown, twelve string }{
	{"text", "room text", "'7'", `"7"`, `"12"`},
	{"NULL", "room text", "NULL", "null", `"12"`},
	{"varchar", "room varchar", "'7'", `"7"`, `"12"`},
	{"varchar of a length", "room varchar(2)", "'7'", `"7"`, `"12"`},
	{"a domain of text", "room floor", "'7'", `"7"`, `"12"`},
	{"a domain of varchar", "room wing", "'7'", `"7"`, `"12"`},
}

var refusedRooms = []struct{ name, column, says string }{
	{"a number", "room integer", "integer"},
	{"a truth value", "room boolean", "boolean"},
	{"JSON", "room jsonb", "jsonb"},
	{"bytes", "room bytea", "bytea"},
	{"a time", "room timestamptz", "timestamp with time zone"},
	{"an array", "room text[]", "text[]"},
	{"an enumeration", "room mood", "mood"},
	{"a text of a fixed length", "room char(4)", "its column room is of type character, and it must be plain text or varchar"},
	{"a text without regard to case", "room citext", "its column room is of type citext, and it must be plain text or varchar"},
	{"a domain of such a text", "room side", "its column room is of type side"},
	{"a column that is computed", "other text, room text GENERATED ALWAYS AS (upper(other)) STORED", "generated"},
}
