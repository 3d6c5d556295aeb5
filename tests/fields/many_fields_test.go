package fields

import (
	"fmt"
	"strings"
	"testing"

	"users-api/tests/program"
)

// names are those of the fields that a setting adds.
type names []string

func numbered(n int) (fields names) {
	for i := range n {
		fields = append(fields, fmt.Sprint("f", i+1))
	}
	return fields
}

func (n names) setting() string { return "USER_FIELDS=" + strings.Join(n, ",") }

// json is the members of an object: each field has a text that ends with its name, or is null.
func (n names) json(value string) (members string) {
	for _, name := range n {
		if value == "null" {
			members += fmt.Sprintf(`,%q:null`, name)
		} else {
			members += fmt.Sprintf(`,%q:"%s-%s"`, name, value, name)
		}
	}
	return members
}

func (n names) header() (columns string) {
	for _, name := range n {
		columns += "," + name
	}
	return columns
}

// cells are those of a row of a CSV file, with the same values.
func (n names) cells(value string) (cells string) {
	for _, name := range n {
		cells += "," + value + "-" + name
	}
	return cells
}

func TestEveryRouteShowsWholeUsers(t *testing.T) {
	t.Parallel()
	for name, fields := range map[string]names{
		"without a field": nil, "with one field": numbered(1), "with 32 fields": numbered(32),
		"with words of SQL": {"group", "select", "table", "user", "users", "null", "true", "where", "values",
			"excluded", "n", "u"},
		"with names that the engines use": {"rowid", "oid", "written", "ordinality", "name_", "text",
			"timestamp", "new", "old", "seq"},
		"with keys that an object has": {"constructor", "prototype", "length", "status", "key", "value", "type", "title"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			useEveryRoute(t, program.Serve(t, fields.setting()), fields)
		})
	}
}

func useEveryRoute(t *testing.T, p *program.Program, fields names) {
	t.Helper()
	user := func(id int, name, values string) string {
		return fmt.Sprintf(`{"id":%d,"name":"%s","email":"e%d","created_at":"T"%s}`, id, name, id, fields.json(values))
	}
	const imported = `200 {"created":%d,"updated":%d,"skipped":0,"deleted":0,"ignored_columns":[]}`
	expect(t, p,
		exchange{"a creation", "POST /api/users", `{"name":"A","email":"e1"` + fields.json("a") + `}`,
			`201 {"id":1,"name":"A","email":"e1"` + fields.json("a") + `}`},
		exchange{"a creation without values", "POST /api/users", `{"name":"B","email":"e2"}`,
			`201 {"id":2,"name":"B","email":"e2"` + fields.json("null") + `}`},
		exchange{"a user", "GET /api/users/1", "", "200 " + user(1, "A", "a")},
		exchange{"all users", "GET /api/users", "", "200 [" + user(1, "A", "a") + "," + user(2, "B", "null") + "]"},
		exchange{"a page", "GET /api/users?limit=1&after=1", "", "200 [" + user(2, "B", "null") + "]"},
		exchange{"a search", "GET /api/users?q=E1&order=desc", "", "200 [" + user(1, "A", "a") + "]"},
		exchange{"a change of the name", "PATCH /api/users/1", `{"name":"C"}`, "200 " + user(1, "C", "a")},
		exchange{"a change of every field", "PATCH /api/users/1", `{"name":"D"` + fields.json("d") + `}`, "200 " + user(1, "D", "d")},
		exchange{"a replacement", "PUT /api/users/2", `{"name":"E","email":"e2"` + fields.json("e") + `}`, "200 " + user(2, "E", "e")},
		exchange{"a replacement without values", "PUT /api/users/1", `{"name":"F","email":"e1"}`, "200 " + user(1, "F", "null")},
		exchange{"an import of CSV", "POST /api/users.csv?on_conflict=update",
			"name,email" + fields.header() + "\nG,e1" + fields.cells("g") + "\nH,e3" + fields.cells("h") + "\n",
			fmt.Sprintf(imported, 1, 1)},
		exchange{"an import of NDJSON", "POST /api/users.ndjson?on_conflict=update",
			`{"name":"I","email":"e1"` + fields.json("i") + "}\n" + `{"name":"J","email":"e4"}`, fmt.Sprintf(imported, 1, 1)},
		exchange{"an export of CSV", "GET /api/users.csv", "", "200 id,name,email,created_at" + fields.header() +
			"\r\n1,I,e1,T" + fields.cells("i") + "\r\n2,E,e2,T" + fields.cells("e") + "\r\n3,H,e3,T" + fields.cells("h") +
			"\r\n4,J,e4,T" + strings.Repeat(",", len(fields)) + "\r\n"},
		exchange{"an export of NDJSON", "GET /api/users.ndjson?after=2", "",
			"200 " + user(3, "H", "h") + "\n" + user(4, "J", "null") + "\n"},
	)
	for _, name := range fields {
		expect(t, p,
			exchange{"a filter", "GET /api/users?" + name + "=h-" + name, "", "200 [" + user(3, "H", "h") + "]"},
			exchange{"a search", "GET /api/users?after=1&q=I-" + name, "", "200 []"})
	}
	expect(t, p, exchange{"a deletion", "DELETE /api/users/3", "", "204 "}, exchange{"another", "DELETE /api/users/4", "", "204 "},
		exchange{"what is left", "GET /api/users", "", "200 [" + user(1, "I", "i") + "," + user(2, "E", "e") + "]"})
}
