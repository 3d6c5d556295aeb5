//go:build !postgres

package tables

import (
	"testing"

	"users-api/tests/program"
)

const (
	tableWithRoom = "CREATE TABLE users (id INTEGER PRIMARY KEY, %s, name TEXT, email TEXT UNIQUE, created_at TEXT)"
	storedRoom    = "SELECT typeof(room) || ' ' || quote(room) FROM users WHERE id = 1"
)

// Columns that are served, a value that another program stored, and how it is shown; and how a 12 is shown.
var roomColumns = []struct{ name, column, stored, shown, twelve string }{
	{"text", "room TEXT", "'7'", `"7"`, `"12"`},
	{"NULL", "room TEXT", "NULL", "null", `"12"`},
	{"a number in a column of text", "room TEXT", "7", `"7"`, `"12"`},
	{"a number", "room INTEGER", "7", `"7"`, `"12"`},
	{"a fraction", "room REAL", "1.5", `"1.5"`, `"12.0"`},
	{"a large number", "room NUMERIC", "9007199254740993", `"9007199254740993"`, `"12"`},
	{"bytes", "room BLOB", "x'6162'", `"ab"`, `"12"`},
	{"no type", "room", "42", `"42"`, `"12"`},
	{"another letter case", `"Room" varchar(2)`, "'long'", `"long"`, `"12"`},
	{"bytes that are no text", "room BLOB", "x'ff'", `"\ufffd"`, `"12"`},
}

// Any column is served as a field. What SQLite refuses to write is its own error.
func TestAColumnThatIsComputedIsServedAndNotWritten(t *testing.T) {
	t.Parallel()
	directory, other := withRoom(t, "other TEXT, room TEXT AS (upper(other))")
	other.Do("INSERT INTO users (name, email, other) VALUES ('Ada', 'ada', 'a')")
	p := program.Serve(t, directory, "USER_FIELDS=room")
	p.Do(t, "GET", "/api/users", "").Expect(t, 200, `[{"id":1,…,"room":"A"}]`)
	p.Do(t, "POST", "/api/users", `{"name":"Alan","email":"alan"}`).Expect(t, 500, "…generated column…")
}
