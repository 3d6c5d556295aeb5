package fields

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"users-api/tests/program"
)

// user is how a user is shown, with a room and a department in JSON.
func user(id int, name, room, department string) string {
	return fmt.Sprintf(`{"id":%d,"name":"%s","email":"%s","created_at":"T","room":%s,"department":%s}`,
		id, name, strings.ToLower(name), room, department)
}

// How Ada, Alan and Grace are shown.
var (
	ada   = user(1, "Ada", `"1815"`, `"R&D, é"`)
	alan  = user(2, "Alan", "null", "null")
	grace = user(3, "Grace", `""`, "null")
)

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
		`1`: refused, `1.5`: refused, `true`: refused, `["1"]`: refused, `{"a":"b"}`: refused,
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

func TestAChangeIsOfTheFieldsThatItNames(t *testing.T) {
	t.Parallel()
	p := serveRooms(t)
	before := program.ETag(t, p, 1)
	expect(t, p, exchange{"PATCH of nothing", "PATCH /api/users/1", `{}`, "200 " + ada},
		exchange{"PUT of a user as it was read", "PUT /api/users/1",
			p.Do(t, "GET", "/api/users/1", "").Body, "200 " + ada},
		exchange{"PATCH of one", "PATCH /api/users/1", `{"room":"7"}`, "200 " + user(1, "Ada", `"7"`, `"R&D, é"`)},
		exchange{"an unknown one", "PATCH /api/users/2", `{"fax":"1"}`,
			`400 {"error":"Unknown key \"fax\": only name, email…room…department can be changed"}`},
	)
	p.Do(t, "PATCH", "/api/users/1", `{"room":"1"}`, "If-Match: "+before).Expect(t, 412, "…")
	p.Do(t, "GET", "/api/users/1", "", "If-None-Match: "+program.ETag(t, p, 1)).Expect(t, 304, "")
}

func TestListsFilterAndSearchAField(t *testing.T) {
	t.Parallel()
	p := serveRooms(t)
	found := func(users ...string) string { return "200 [" + strings.Join(users, ",") + "]" }
	for _, test := range []struct{ name, query, want string }{
		{"a filter is exact", "room=181", found()},
		{"a filter in escapes", "department=R%26D,+%C3%A9", found(ada)},
		{"a filter and an email", "room=1815&email=ada", found(ada)},
		{"a filter and a search", "room=1815&q=grace", found()},
		{"a filter, an order and a limit", "room=1815&order=desc&limit=1", found(ada)},
		{"an empty filter finds users that have none", "room=&department=", found(alan, grace)},
		{"a search for a part", "q=81", found(ada)},
		{"null is no text to search", "q=null", found()},
		{"any of several values", "room=1&r%6fom=1815&room=1816", found(ada)},
		{"any of several values, or none", "room=1815&room=", found(ada, alan, grace)},
		{"users that have one", "room!=", found(ada)},
		{"another value, or none", "room!=1815", found(alan, grace)},
		{"none of several values", "room!=1&room!=1815", found(alan, grace)},
		{"a filter with a broken escape", "room=5%",
			program.ErrorBody("The parameter room must be the whole room of a user, in UTF-8, " +
				"with each % of it written as %25")},
		{"an empty search", "q=",
			program.ErrorBody("The parameter q must be words that are parts of any field, in UTF-8, of at most 1000 characters")},
		{"an unknown parameter", "fax=1",
			`{"error":"Unknown parameter \"fax\": a list takes id, name, name!, email, email!, …room, room!, department, department!, q, …"}`},
	} {
		if !strings.HasPrefix(test.want, "200") {
			test.want = "400 " + test.want
		}
		expect(t, p, exchange{test.name, "GET /api/users?" + test.query, "", test.want})
	}
	expect(t, p, exchange{"another user has Ada's room", "PATCH /api/users/3", `{"room":"1815"}`, "200 …"})
	page := p.Do(t, "GET", "/api/users?room=1815&limit=1&count=true", "")
	program.ExpectHeader(t, page, "Link", `<?room=1815&limit=1&count=true&after=1>; rel="next"`)
	program.ExpectHeader(t, page, "X-Total-Count", "2")
}

func TestAnImportChangesTheFieldsThatTheFileHas(t *testing.T) {
	t.Parallel()
	p := serveRooms(t)
	const update = "?on_conflict=update"
	for _, test := range []struct{ name, path, file, answer, want string }{
		{"a file without them", program.CSV + update, "name,email\nAda,ada\n", program.Imported(0, 0, 1, 0), ada},
		{"an empty cell is null", program.CSV + update, "room,email,name\n,ada,Ada\n", program.Imported(0, 1, 0, 0),
			user(1, "Ada", "null", `"R&D, é"`)},
		{"the columns may be in any letter case", program.CSV + update, "NAME,Email, Room \nAda,ada,9\n",
			program.Imported(0, 1, 0, 0), user(1, "Ada", `"9"`, `"R&D, é"`)},
		{"a line has its own", program.NDJSON + update, `{"name":"Ada","email":"ada","department":null}`,
			program.Imported(0, 1, 0, 0), user(1, "Ada", `"9"`, "null")},
		{"columns that are no fields", program.CSV + update, "name,email,room,fax\nAda,ada,1,2\n",
			`{"created":0,"updated":1,"skipped":0,"deleted":0,"ignored_columns":["fax"]}`,
			user(1, "Ada", `"1"`, "null")},
	} {
		expect(t, p, exchange{test.name, "POST " + test.path, test.file, "200 " + test.answer},
			exchange{test.name, "GET /api/users/1", "", "200 " + test.want})
	}
	expect(t, p, exchange{"a filter of an export", "GET /api/users.csv?room=1", "",
		"200 id,name,email,created_at…,room,department\r\n1,Ada,ada,T…,1,\r\n"},
		exchange{"is none of an import", "POST /api/users.csv?room=1", "name,email\nn,n\n",
			`400 {"error":"Unknown parameter \"room\": …"}`})
}

// The command and another program have made unique indexes. SQL has a word group, so PostgreSQL writes the column in quotes.
func TestAValueThatAUniqueIndexRefusesIsAConflict(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "USER_FIELDS=room,group")
	p.Run(t, "add-field", "--unique", "group").MustSucceed(t)
	program.OpenOther(t, p.DatabasePath()).Do("CREATE UNIQUE INDEX one ON users (room)", "CREATE UNIQUE INDEX three ON users (name)")
	const problem = "Accept: application/problem+json"
	ada, alan := `{"name":"Ada","email":"ada","room":"1","group":"a"}`, `{"name":"Alan","email":"alan"}`
	p.Do(t, "POST", "/api/users", ada).Expect(t, 201, "…")
	p.Do(t, "POST", "/api/users", alan).Expect(t, 201, "…")
	for field, value := range map[string]string{"room": "1", "group": "a", "name": "Ada", "email": "ada"} {
		says, code, inFile := field+" is already used by another user", "value_used", " or an earlier row of the file"
		if field == "email" {
			says, code, inFile = "Email is already used by another user", "email_used", ""
		}
		user := map[string]string{"name": "n", "email": "e"}
		user[field] = value
		text, err := json.Marshal(user)
		program.Must(t, err)
		body := string(text)
		for _, request := range []string{"PATCH /api/users/2", "PUT /api/users/2", "POST /api/users"} {
			method, path, _ := strings.Cut(request, " ")
			p.Do(t, method, path, body, problem).Expect(t, 409, `…"detail":"`+says+`","code":"`+code+`"}`)
			want := program.Answer{Status: 409, Body: program.ErrorBody(says)}
			if method == "POST" { // what storage says
				want = program.Answer{Status: 500, Body: `{"error":"…constraint…"}`}
			}
			p.Do(t, method, path, body).Expect(t, want.Status, want.Body)
		}
		p.Do(t, "POST", program.NDJSON, body, problem).Expect(t, 422, `…"rows":[{"line":1,"error":"`+says+inFile+`","code":"`+code+`"}]}`)
	}
	p.ExpectUsers(t, "Ada", "Alan")
}

// Without an index, a filter looks at every user. The fastest of several requests says whether it does.
func TestAFilterFindsAUniqueValueByItsIndex(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "USER_FIELDS=room,floor")
	p.Run(t, "add-field", "--unique", "room").MustSucceed(t)
	other := program.OpenOther(t, p.DatabasePath())
	other.Fill(100_000)
	other.Do("UPDATE users SET room = email, floor = email")
	fastest := map[string]time.Duration{}
	for range 10 {
		for _, field := range []string{"room", "floor"} {
			began := time.Now()
			p.Do(t, "GET", "/api/users?"+field+"=user99999@example.org", "").Expect(t, 200, `[{"id":99999,…}]`)
			if took := time.Since(began); fastest[field] == 0 || took < fastest[field] {
				fastest[field] = took
			}
		}
	}
	if 2*fastest["room"] > fastest["floor"] {
		t.Errorf("a value with an index is found in %s, and one without in %s", fastest["room"], fastest["floor"])
	}
}
