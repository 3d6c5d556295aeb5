package fields

import (
	"testing"

	"users-api/tests/program"
)

// How Ada, Alan and Grace are shown.
const (
	ada   = `{"id":1,"name":"Ada","email":"ada","created_at":"T","room":"1815"}`
	alan  = `{"id":2,"name":"Alan","email":"alan","created_at":"T","room":null}`
	grace = `{"id":3,"name":"Grace","email":"grace","created_at":"T","room":""}`
)

// serveRooms starts a program with Ada, whose room is a text, Alan, who has none, and Grace, whose room is empty.
func serveRooms(t *testing.T) *program.Program {
	t.Helper()
	p := program.Serve(t, "USER_FIELDS=room")
	expect(t, p,
		exchange{"a text is stored", "POST /api/users", `{"name":"Ada","email":"ada","room":"1815"}`,
			`201 {"id":1,"name":"Ada","email":"ada","room":"1815"}`},
		exchange{"nothing is null", "POST /api/users", `{"name":"Alan","email":"alan"}`,
			`201 {"id":2,"name":"Alan","email":"alan","room":null}`},
		exchange{"an empty text is one", "POST /api/users", `{"name":"Grace","email":"grace","room":""}`,
			`201 {"id":3,"name":"Grace","email":"grace","room":""}`})
	return p
}

func TestAFieldIsATextOrNull(t *testing.T) {
	t.Parallel()
	p := serveRooms(t)
	const refused = `400 {"error":"room must be text or null"}`
	for value, want := range map[string]string{
		`1`: refused, `1.5`: refused, `true`: refused, `[]`: refused, `["1"]`: refused, `{}`: refused, `{"a":"b"}`: refused,
		`null`: `200 {"id":1,"name":"Ada","email":"ada","created_at":"T","room":null}`,
		`""`:   `200 {"id":1,"name":"Ada","email":"ada","created_at":"T","room":""}`,
		`" "`:  `200 {"id":1,"name":"Ada","email":"ada","created_at":"T","room":" "}`,
	} {
		expect(t, p, exchange{"PATCH", "PATCH /api/users/1", `{"room":` + value + `}`, want},
			exchange{"PUT", "PUT /api/users/1", `{"name":"Ada","email":"ada","room":` + value + `}`, want})
		if want == refused {
			expect(t, p, exchange{"POST", "POST /api/users", `{"name":"n","email":"n","room":` + value + `}`, want})
		}
	}
	expect(t, p, exchange{"an import", "POST /api/users.ndjson", `{"name":"n","email":"n","room":1}`,
		`422 {"error":"1 of 1 row cannot be imported; nothing was stored","rows":[{"line":1,"error":"room must be text or null"}]}`})
}

func TestAChangeLeavesSetsOrClearsAField(t *testing.T) {
	t.Parallel()
	p := serveRooms(t)
	expect(t, p,
		exchange{"PATCH of another field leaves it", "PATCH /api/users/1", `{"name":"Ada L"}`,
			`200 {"id":1,"name":"Ada L","email":"ada","created_at":"T","room":"1815"}`},
		exchange{"PATCH of nothing leaves it", "PATCH /api/users/1", `{}`,
			`200 {"id":1,"name":"Ada L","email":"ada","created_at":"T","room":"1815"}`},
		exchange{"PATCH sets it", "PATCH /api/users/2", `{"room":"1912"}`,
			`200 {"id":2,"name":"Alan","email":"alan","created_at":"T","room":"1912"}`},
		exchange{"PATCH with null clears it", "PATCH /api/users/3", `{"room":null}`,
			`200 {"id":3,"name":"Grace","email":"grace","created_at":"T","room":null}`},
		exchange{"PUT without it clears it", "PUT /api/users/2", `{"name":"Alan","email":"alan"}`, "200 " + alan},
		exchange{"PUT sets it", "PUT /api/users/3", `{"name":"Grace","email":"grace","room":""}`, "200 " + grace},
		exchange{"a user may be sent back as it was read", "PUT /api/users/1",
			p.Do(t, "GET", "/api/users/1", "").Body, "200 " + ada},
		exchange{"the sentence about keys names it", "PATCH /api/users/2", `{"fax":"1"}`,
			`400 {"error":"Unknown key \"fax\": only name, email…room can be changed"}`},
		exchange{"its name in another case is another key", "PATCH /api/users/2", `{"Room":"1"}`,
			`400 {"error":"Unknown key \"Room\": only name, email…room can be changed"}`},
		exchange{"name and email are as required as ever", "PUT /api/users/2", `{"room":"1"}`,
			`400 {"error":"Name and email are required"}`},
	)
}

func TestAChangeOfAFieldGivesTheUserAnotherETag(t *testing.T) {
	t.Parallel()
	p := serveRooms(t)
	before := program.ETag(t, p, 1)
	expect(t, p, exchange{"the change", "PATCH /api/users/1", `{"room":"1816"}`,
		`200 {"id":1,"name":"Ada","email":"ada","created_at":"T","room":"1816"}`})
	p.Do(t, "PATCH", "/api/users/1", `{"room":"1"}`, "If-Match: "+before).Expect(t, 412, "…")
	p.Do(t, "GET", "/api/users/1", "", "If-None-Match: "+program.ETag(t, p, 1)).Expect(t, 304, "")
}

func TestListsFilterAndSearchAField(t *testing.T) {
	t.Parallel()
	p := serveRooms(t)
	expect(t, p,
		exchange{"the list shows it", "GET /api/users", "", "200 [" + ada + "," + alan + "," + grace + "]"},
		exchange{"a filter finds it", "GET /api/users?room=1815", "", "200 [" + ada + "]"},
		exchange{"a filter is exact", "GET /api/users?room=181", "", "200 []"},
		exchange{"a filter and an email", "GET /api/users?room=1815&email=ada", "", "200 [" + ada + "]"},
		exchange{"a filter and an email of another user", "GET /api/users?room=1815&email=alan", "", "200 []"},
		exchange{"a filter and a search", "GET /api/users?room=1815&q=grace", "", "200 []"},
		exchange{"a filter and a place", "GET /api/users?room=1815&after=1", "", "200 []"},
		exchange{"a filter, an order and a limit", "GET /api/users?room=1815&order=desc&limit=1", "", "200 [" + ada + "]"},
		exchange{"a search finds it", "GET /api/users?q=81", "", "200 [" + ada + "]"},
		exchange{"a page shows it", "GET /api/users?limit=1&order=desc", "", "200 [" + grace + "]"},
		exchange{"a page in the middle shows it", "GET /api/users?limit=1&after=1", "", "200 [" + alan + "]"},
		exchange{"an empty filter finds users that have none", "GET /api/users?room=", "", "200 [" + alan + "," + grace + "]"},
		exchange{"a filter given twice is refused", "GET /api/users?room=1&room=2", "",
			`400 {"error":"The parameter room must be given once, as the whole room of a user, in UTF-8"}`},
		exchange{"the sentence about parameters names it", "GET /api/users?fax=1", "",
			`400 {"error":"Unknown parameter \"fax\": a list takes email…, room, q, …"}`},
	)
}

func TestAPageOfAFilterNamesTheNextWithIt(t *testing.T) {
	t.Parallel()
	p := serveRooms(t)
	expect(t, p, exchange{"another user has Ada's room", "PATCH /api/users/3", `{"room":"1815"}`,
		`200 {"id":3,"name":"Grace","email":"grace","created_at":"T","room":"1815"}`})
	answer := p.Do(t, "GET", "/api/users?room=1815&limit=1&count=true", "")
	program.ExpectHeader(t, answer, "Link", `<?room=1815&limit=1&count=true&after=1>; rel="next"`)
	program.ExpectHeader(t, answer, "X-Total-Count", "2")
}

func TestFilesHaveAField(t *testing.T) {
	t.Parallel()
	p := serveRooms(t)
	expect(t, p,
		exchange{"CSV has the column", "GET /api/users.csv", "",
			"200 id,name,email,created_at…,room\r\n1,Ada,ada,T…,1815\r\n2,Alan,alan,T…,\r\n3,Grace,grace,T…,\r\n"},
		exchange{"a filter chooses rows", "GET /api/users.csv?room=1815", "",
			"200 id,name,email,created_at…,room\r\n1,Ada,ada,T…,1815\r\n"},
		exchange{"NDJSON has it", "GET /api/users.ndjson", "", "200 " + ada + "\n" + alan + "\n" + grace + "\n"},
		exchange{"a file without it leaves it alone", "POST /api/users.csv?on_conflict=update", "name,email\nAda L,ada\n",
			`200 {"created":0,"updated":1,"skipped":0,"deleted":0,"ignored_columns":[]}`},
		exchange{"it is still there", "GET /api/users?email=ada", "",
			`200 [{"id":1,"name":"Ada L","email":"ada","created_at":"T","room":"1815"}]`},
		exchange{"a file with it changes it, and an empty cell is null", "POST /api/users.csv?on_conflict=update",
			"room,email,fax,name\n1,ada,,Ada\n,grace,,Grace\n2,new,,New\n",
			`200 {"created":1,"updated":2,"skipped":0,"deleted":0,"ignored_columns":["fax"]}`},
		exchange{"of a line only the fields that it has are changed", "POST /api/users.ndjson?on_conflict=update",
			`{"name":"Ada L","email":"ada"}` + "\n" + `{"name":"New","email":"new","room":null}` + "\n",
			`200 {"created":0,"updated":2,"skipped":0,"deleted":0,"ignored_columns":[]}`},
		exchange{"of a user who is skipped nothing is changed", "POST /api/users.csv?on_conflict=skip",
			"name,email,room\nAdele,ada,7\n", `200 {"created":0,"updated":0,"skipped":1,"deleted":0,"ignored_columns":[]}`},
		exchange{"in all", "GET /api/users", "",
			`200 [{"id":1,"name":"Ada L","email":"ada","created_at":"T","room":"1"},` + alan +
				`,{"id":3,"name":"Grace","email":"grace","created_at":"T","room":null}` +
				`,{"id":4,"name":"New","email":"new","created_at":"T","room":null}]`},
		exchange{"a dry run stores nothing", "POST /api/users.csv?on_conflict=update&dry_run=true",
			"name,email,room\nAda,ada,8\n", `200 {"created":0,"updated":1,"skipped":0,"deleted":0,"ignored_columns":[]}`},
		exchange{"the column may be in any letter case", "POST /api/users.csv?on_conflict=update", "NAME,Email, Room \nAda,ada,9\n",
			`200 {"created":0,"updated":1,"skipped":0,"deleted":0,"ignored_columns":[]}`},
		exchange{"it is no parameter of an import", "POST /api/users.csv?room=1", "name,email\nn,n\n", `400 {"error":"Unknown parameter \"room\": …"}`},
		exchange{"after these", "GET /api/users/1", "", `200 {"id":1,"name":"Ada","email":"ada","created_at":"T","room":"9"}`},
	)
}

func TestASpreadsheetFindsNoFormulaInAField(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "USER_FIELDS=room")
	expect(t, p,
		exchange{"a formula", "POST /api/users", `{"name":"n","email":"e","room":"=1+1"}`,
			`201 {"id":1,"name":"n","email":"e","room":"=1+1"}`},
		exchange{"is exported with an apostrophe", "GET /api/users.csv?spreadsheet=true", "",
			"200 \ufeffid,name,email,created_at…,room\r\n1,n,e,T…,'=1+1\r\n"},
		exchange{"which the import removes", "POST /api/users.csv?spreadsheet=true&on_conflict=update", "name,email,room\nn,e,'=2\n",
			`200 {"created":0,"updated":1,"skipped":0,"deleted":0,"ignored_columns":[]}`},
		exchange{"again", "GET /api/users?room=%3D2", "",
			`200 [{"id":1,"name":"n","email":"e","created_at":"T","room":"=2"}]`},
	)
}
