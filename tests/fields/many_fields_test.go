package fields

import (
	"fmt"
	"strings"
	"testing"

	"users-api/tests/program"
)

// names are those of the fields that a setting adds.
type names []string

// each writes a text once for each field, with its name for every N.
func (n names) each(text string) (all string) {
	for _, name := range n {
		all += strings.ReplaceAll(text, "N", name)
	}
	return all
}

func numbered(n int) (fields names) {
	for i := range n {
		fields = append(fields, fmt.Sprint("f", i+1))
	}
	return fields
}

func TestEveryRouteShowsWholeUsers(t *testing.T) {
	t.Parallel()
	for name, fields := range map[string]names{
		"without a field": nil, "with one field": numbered(1), "with 32 fields": numbered(32),
		"with words of SQL":     strings.Fields("group select table user users null true where values excluded n u"),
		"with words of engines": strings.Fields("rowid oid written ordinality name_ text timestamp new old seq"),
		"with keys of objects":  {"constructor", "prototype", "length", "status", "key", "value", "type", "title"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			useEveryRoute(t, program.Serve(t, "USER_FIELDS="+strings.Join(fields, ",")), fields)
		})
	}
}

func useEveryRoute(t *testing.T, p *program.Program, fields names) {
	t.Helper()
	// Each field has a text that ends with its name, or is null.
	const null = "null"
	values := func(value string) string {
		if value == null {
			return fields.each(`,"N":null`)
		}
		return fields.each(`,"N":"` + value + `-N"`)
	}
	user := func(id int, name, value string) string {
		return fmt.Sprintf(`{"id":%d,"name":"%s","email":"e%d","created_at":"T"%s}`, id, name, id, values(value))
	}
	body := func(name, email, value string) string {
		return fmt.Sprintf(`{"name":"%s","email":"%s"%s}`, name, email, values(value))
	}
	header := "name,email" + fields.each(",N")
	expect(t, p,
		exchange{"a creation", "POST /api/users", body("A", "e1", "a"), `201 {"id":1,` + body("A", "e1", "a")[1:]},
		exchange{"a creation without values", "POST /api/users", `{"name":"B","email":"e2"}`,
			`201 {"id":2,` + body("B", "e2", null)[1:]},
		exchange{"a user", "GET /api/users/1", "", "200 " + user(1, "A", "a")},
		exchange{"all users", "GET /api/users", "", "200 [" + user(1, "A", "a") + "," + user(2, "B", null) + "]"},
		exchange{"a page", "GET /api/users?limit=1&after=1", "", "200 [" + user(2, "B", null) + "]"},
		exchange{"a search", "GET /api/users?q=E1&order=desc", "", "200 [" + user(1, "A", "a") + "]"},
		exchange{"a change of the name", "PATCH /api/users/1", `{"name":"C"}`, "200 " + user(1, "C", "a")},
		exchange{"a change of every field", "PATCH /api/users/1", body("D", "e1", "d"), "200 " + user(1, "D", "d")},
		exchange{"a replacement", "PUT /api/users/2", body("E", "e2", "e"), "200 " + user(2, "E", "e")},
		exchange{"a replacement without values", "PUT /api/users/1", `{"name":"F","email":"e1"}`,
			"200 " + user(1, "F", null)},
		exchange{"an import of CSV", "POST /api/users.csv?on_conflict=update",
			header + "\nG,e1" + fields.each(",g-N") + "\nH,e3" + fields.each(",h-N") + "\n",
			"200 " + program.Imported(1, 1, 0, 0)},
		exchange{"an import of NDJSON", "POST /api/users.ndjson?on_conflict=update",
			body("I", "e1", "i") + "\n" + `{"name":"J","email":"e4"}`, "200 " + program.Imported(1, 1, 0, 0)},
		exchange{"an export of CSV", "GET /api/users.csv", "", "200 id,name,email,created_at" + fields.each(",N") +
			"\r\n1,I,e1,T" + fields.each(",i-N") + "\r\n2,E,e2,T" + fields.each(",e-N") +
			"\r\n3,H,e3,T" + fields.each(",h-N") + "\r\n4,J,e4,T" + fields.each(",") + "\r\n"},
		exchange{"an export of NDJSON", "GET /api/users.ndjson?after=2", "",
			"200 " + user(3, "H", "h") + "\n" + user(4, "J", null) + "\n"},
	)
	for _, name := range fields {
		expect(t, p,
			exchange{"a filter", "GET /api/users?" + name + "=h-" + name, "", "200 [" + user(3, "H", "h") + "]"},
			exchange{"a search", "GET /api/users?q=H-" + name, "", "200 [" + user(3, "H", "h") + "]"})
	}
	p.Delete(t, 3)
	p.Delete(t, 4)
	p.ExpectUsers(t, "I", "E")
}
