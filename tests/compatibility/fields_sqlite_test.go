//go:build !postgres

package compatibility

const (
	tableWithRoom = "CREATE TABLE users (id INTEGER PRIMARY KEY, %s, name TEXT, email TEXT UNIQUE, created_at TEXT)"
	storedRoom    = "SELECT typeof(room) || ' ' || quote(room) FROM users WHERE id = 1"
)

// Columns that are served, a value that another program stored, and how it is shown; and how a 12 is shown.
var roomColumns = []struct{ name, column, stored, shown, twelve string }{
	{"text", "room TEXT", "'7'", `"7"`, `"12"`},
	{"NULL", "room TEXT", "NULL", "null", `"12"`},
	{"a number in a column of text", "room TEXT", "7", `"7"`, `"12"`},
	{"bytes in a column of text", "room TEXT", "x'6162'", `"ab"`, `"12"`},
	{"bytes that are no text", "room TEXT", "x'ff'", `"\ufffd"`, `"12"`},
	{"another type of text", "room varchar(2)", "'long'", `"long"`, `"12"`},
	{"a large text", "room CLOB", "'long'", `"long"`, `"12"`},
}

var refusedRooms = []struct{ name, column, says string }{
	{"a number", "room INTEGER", "its column room has no type of text: make the table anew with room TEXT, take it out of USER_FIELDS, or set DATA_DIR"},
	{"a fraction", "room REAL", "its column room has no type of text"},
	{"bytes", "room BLOB", "its column room has no type of text"},
	{"no type", "room", "its column room has no type of text"},
	{"a type that SQLite takes for an integer", "room CHARINT", "its column room has no type of text"},
	{"another letter case", "Room TEXT", "its column Room is not spelled room: rename it"},
	{"a column that is computed", "other TEXT, room TEXT AS (upper(other))", "its column room is generated"},
	{"a column that is computed and stored", "other TEXT, room TEXT AS (upper(other)) STORED", "its column room is generated"},
}
