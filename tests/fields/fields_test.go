package fields

import (
	"fmt"
	"strings"
	"testing"

	"users-api/tests/program"
)

// user is how a user is shown, with a room and a department in JSON.
func user(id int, name, room, department string) string {
	return fmt.Sprintf(`{"id":%d,"name":"%s","email":"%s","created_at":"T","room":%s,"department":%s}`,
		id, name, strings.ToLower(name), room, department)
}

// ada is how Ada is shown.
var ada = user(1, "Ada", `"1815"`, `"R&D, é"`)

// serveRooms starts a program with Ada, who has a room and a department, Alan, who has neither, and Grace, whose room
// is empty.
func serveRooms(t *testing.T) *program.Program {
	t.Helper()
	p := program.Serve(t, "USER_FIELDS=room,department")
	expect(t, p, exchange{"a body may have them in any order", "POST /api/users",
		`{"department":"R&D, é","email":"ada","name":"Ada","room":"1815"}`,
		`201 {"id":1,"name":"Ada","email":"ada","room":"1815","department":"R&D, é"}`},
		exchange{"of two keys the last counts, and of none in another case", "POST /api/users",
			`{"room":5,"name":"Alan","email":"alan","r\u006fom":null,"Department":"x"}`,
			`201 {"id":2,"name":"Alan","email":"alan","room":null,"department":null}`},
		exchange{"an empty text is one", "POST /api/users", `{"name":"Grace","email":"grace","room":""}`,
			`201 {"id":3,"name":"Grace","email":"grace","room":"","department":null}`})
	return p
}

func TestAFieldIsATextOrNull(t *testing.T) {
	t.Parallel()
	p := serveRooms(t)
	const refused = `400 {"error":"room must be text or null"}`
	for value, want := range map[string]string{
		`1`: refused, `true`: refused, `["1"]`: refused, `{"a":"b"}`: refused,
		`null`: "200 " + user(2, "Alan", `null`, "null"),
		`""`:   "200 " + user(2, "Alan", `""`, "null"),
		`" "`:  "200 " + user(2, "Alan", `" "`, "null"),
	} {
		expect(t, p, exchange{"PATCH", "PATCH /api/users/2", `{"room":` + value + `}`, want},
			exchange{"PUT", "PUT /api/users/2", `{"name":"Alan","email":"alan","room":` + value + `}`, want})
		if want == refused {
			expect(t, p, exchange{"POST", "POST /api/users", `{"name":"n","email":"n","room":` + value + `}`, want})
		}
	}
	expect(t, p, exchange{"an import", "POST /api/users.ndjson", `{"name":"n","email":"n","department":1}`,
		`422 {"error":"1 of 1 row cannot be imported; nothing was stored",` +
			`"rows":[{"line":1,"error":"department must be text or null"}]}`})
}

func TestAnImportChangesTheFieldsThatTheFileHas(t *testing.T) {
	t.Parallel()
	p := serveRooms(t)
	const update = "?on_conflict=update"
	for _, test := range []struct{ name, path, file, answer, want string }{
		{"a file without them", program.CSV + update, "name,email\nAda,ada\n", program.Imported(0, 0, 1, 0), ada},
		{"an empty cell is null", program.CSV + update, "room,email,name\n,ada,Ada\n",
			`{"created":0,"updated":1,"skipped":0,"deleted":0,"emptied":{"room":1},"ignored_columns":[]}`,
			user(1, "Ada", "null", `"R&D, é"`)},
		{"the columns may be in any letter case", program.CSV + update, "NAME,Email, Room \nAda,ada,9\n",
			program.Imported(0, 1, 0, 0), user(1, "Ada", `"9"`, `"R&D, é"`)},
		{"a line has its own", program.NDJSON + update, `{"name":"Ada","email":"ada","department":null}`,
			`{"created":0,"updated":1,"skipped":0,"deleted":0,"emptied":{"department":1},"ignored_columns":[]}`,
			user(1, "Ada", `"9"`, "null")},
		{"empty values are kept", program.NDJSON + update + "&empty=keep", `{"name":null,"email":"ada","room":""}`,
			program.Imported(0, 0, 1, 0), user(1, "Ada", `"9"`, "null")},
		{"a value beside empty ones", program.CSV + update + "&empty=keep", "name,email,room,department\n,ada,,IT\n",
			program.Imported(0, 1, 0, 0), user(1, "Ada", `"9"`, `"IT"`)},
	} {
		expect(t, p, exchange{test.name, "POST " + test.path, test.file, "200 " + test.answer},
			exchange{test.name, "GET /api/users/1", "", "200 " + test.want})
	}
	expect(t, p, exchange{"a filter of an export", "GET /api/users.csv?room=9", "",
		"200 id,name,email,created_at…,room,department\r\n1,Ada,ada,T…,9,IT\r\n"},
		exchange{"is none of an import", "POST /api/users.csv?room=1", "name,email\nn,n\n",
			`400 {"error":"Unknown parameter \"room\": …"}`})
}

// The command and another program have made unique indexes. SQL has a word group, so PostgreSQL writes the column in quotes.
func TestAValueThatAUniqueIndexRefusesIsAConflict(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "USER_FIELDS=room,group")
	p.Run(t, "add-field", "--unique", "group").MustSucceed(t)
	program.OpenOther(t, p.DatabasePath()).Do("CREATE UNIQUE INDEX one ON users (room)", "CREATE UNIQUE INDEX three ON users (name)")
	p.Do(t, "POST", "/api/users", `{"name":"Ada","email":"ada","room":"1","group":"a"}`).Expect(t, 201, "…")
	p.Do(t, "POST", "/api/users", `{"name":"Alan","email":"alan"}`).Expect(t, 201, "…")
	for body, field := range map[string]string{
		`{"name":"n","email":"e","room":"1"}`: "room", `{"name":"n","email":"e","group":"a"}`: "group", `{"name":"Ada","email":"e"}`: "name",
		`{"name":"n","email":"ada"}`: "Email",
	} {
		says, code := field+" is already used by another user", map[bool]string{true: "email_used", false: "value_used"}[field == "Email"]
		for request, plain := range map[string]string{
			"PATCH /api/users/2": "409 " + program.ErrorBody(says), "PUT /api/users/2": "409 " + program.ErrorBody(says),
			"POST /api/users": `500 {"error":"…constraint…"}`, // what storage says
		} {
			expect(t, p, exchange{field, request, body, plain})
			p.Ask(t, request, body, "Accept: application/problem+json").Expect(t, 409, `…"detail":"`+says+`","code":"`+code+`"}`)
		}
		p.Do(t, "POST", program.NDJSON, body, "Accept: application/problem+json").
			Expect(t, 422, `…"rows":[{"line":1,"error":"`+says+`","code":"`+code+`"}]}`)
	}
	p.ExpectUsers(t, "Ada", "Alan")
}

func TestAFieldThatIsNoLongerSetKeepsItsValues(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "USER_FIELDS=room,city")
	p.Do(t, "POST", "/api/users", `{"name":"Ada","email":"ada","room":"1815","city":"London"}`).Expect(t, 201, "…")
	p = p.Again(t, "USER_FIELDS=city")
	expect(t, p,
		exchange{"it is not shown", "GET /api/users", "", `200 [{"id":1,"name":"Ada","email":"ada","created_at":"T","city":"London"}]`},
		exchange{"nor exported", "GET /api/users.csv", "", "200 id,name,email,created_at…,city\r\n1,Ada,ada,T…,London\r\n"},
		exchange{"nor searched", "GET /api/users?q=1815", "", "200 []"},
		exchange{"nor a filter", "GET /api/users?room=1815", "", `400 {"error":"Unknown parameter \"room\": …"}`},
		exchange{"PATCH does not know it", "PATCH /api/users/1", `{"room":"1"}`, `400 {"error":"Unknown key \"room\": …"}`},
		exchange{"PUT does not clear it", "PUT /api/users/1", `{"name":"Ada L","email":"ada"}`, `200 {…"name":"Ada L",…"city":null}`},
		exchange{"an import does not set it", "POST /api/users.csv?on_conflict=update",
			"name,email,room\nAda K,ada,7\n", `200 {"created":0,"updated":1,…"ignored_columns":["room"]}`},
	)
	expect(t, p.Again(t, "USER_FIELDS=city,room"), exchange{"it is there again, in the order of the setting", "GET /api/users", "",
		`200 [{"id":1,"name":"Ada K","email":"ada","created_at":"T","city":null,"room":"1815"}]`})
}

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
			p := program.Serve(t, "USER_FIELDS="+strings.Join(fields, ","))
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
				exchange{"all users", "GET /api/users", "", "200 [" + user(1, "A", "a") + "," + user(2, "B", null) + "]"},
				exchange{"a page", "GET /api/users?limit=1&after=1", "", "200 [" + user(2, "B", null) + "]"},
				exchange{"a search", "GET /api/users?q=E1&order=desc", "", "200 [" + user(1, "A", "a") + "]"},
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
			deleted := strings.TrimSuffix(user(3, "H", "h"), "}") + `,"deleted_at":"T","deleted_by":null}`
			expect(t, p,
				exchange{"who was deleted", "GET /api/users/deleted?q=H", "", "200 [" + deleted + "]"},
				exchange{"a restored user", "POST /api/users/3/restore", "", "201 " + user(3, "H", "h")},
				exchange{"a change of every field", "PUT /api/users/3", `{"name":"K","email":"e3"}`, "200 " + user(3, "K", null)},
				exchange{"what it has changed", "GET /api/users/3/changes?limit=1", "", `200 {"changes":[{…"before":{"name":"H"` + values("h") +
					`},"after":{"name":"K"` + values(null) + `}}]}`})
		})
	}
}
