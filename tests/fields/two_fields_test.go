package fields

import (
	"testing"

	"users-api/tests/program"
)

func TestSeveralFieldsKeepTheOrderOfTheSetting(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "USER_FIELDS=room,department")
	const ada = `{"id":1,"name":"Ada","email":"ada","created_at":"T","room":"7","department":"R&D, é"}`
	const alan = `{"id":2,"name":"Alan","email":"alan","created_at":"T","room":"7","department":null}`
	expect(t, p,
		exchange{"in a body they may be in any order", "POST /api/users", `{"department":"R&D, é","email":"ada","name":"Ada","room":"7"}`,
			`201 {"id":1,"name":"Ada","email":"ada","room":"7","department":"R&D, é"}`},
		exchange{"a key with escapes is the same, and the last of two counts", "POST /api/users",
			`{"room":5,"name":"Alan","email":"alan","r\u006fom":"7","Department":"x"}`,
			`201 {"id":2,"name":"Alan","email":"alan","room":"7","department":null}`},
		exchange{"the error names the field", "POST /api/users", `{"name":"n","email":"n","room":"","department":false}`,
			`400 {"error":"department must be text or null"}`},
		exchange{"a change of one leaves the other", "PATCH /api/users/1", `{"room":"7"}`, "200 " + ada},
		exchange{"a list shows both", "GET /api/users", "", "200 [" + ada + "," + alan + "]"},
		exchange{"a filter in escapes", "GET /api/users?department=R%26D,+%C3%A9", "", "200 [" + ada + "]"},
		exchange{"two filters", "GET /api/users?department=R%26D,+%C3%A9&room=8", "", "200 []"},
		exchange{"a filter keeps the case of letters", "GET /api/users?department=r%26d,+%C3%A9", "", "200 []"},
		exchange{"a filter that is not UTF-8", "GET /api/users?room=%ff", "",
			`400 {"error":"The parameter room must be the whole room of a user, in UTF-8"}`},
		exchange{"a filter with a broken escape", "GET /api/users?room=5%", "",
			`400 {"error":"The parameter room must be the whole room of a user, in UTF-8, with each % of it written as %25"}`},
		exchange{"a filter between others may not be repeated", "GET /api/users?room=1&department=x&r%6fom=1", "",
			`400 {"error":"The parameter room must be given once, as the whole room of a user, in UTF-8"}`},
		exchange{"an empty filter finds users that have none", "GET /api/users?department=&room=7&count=true", "", "200 [" + alan + "]"},
		exchange{"nobody is without a room", "GET /api/users?room=", "", "200 []"},
		exchange{"everybody has an email", "GET /api/users?email=", "",
			`400 {"error":"The parameter email must be the whole email of a user, in UTF-8"}`},
		exchange{"a search is for a part of any field", "GET /api/users?q=", "",
			`400 {"error":"The parameter q must be a part of any field, in UTF-8, of at most 1000 characters"}`},
		exchange{"null is no text to search", "GET /api/users?q=null", "", "200 []"},
	)
}

func TestFilesHaveSeveralFields(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "USER_FIELDS=room,department")
	expect(t, p,
		exchange{"columns in any order and letter case", "POST /api/users.csv",
			"ROOM, Department ,id,Email,NAME,city\n7,\"R&D, \"\"é\"\"\",9,ada,Ada,x\n\"\",,9,alan,Alan,\n", `200 ` +
				`{"created":2,"updated":0,"skipped":0,"deleted":0,"ignored_columns":["id","city"]}`},
		exchange{"lines with one of them", "POST /api/users.ndjson",
			`{"name":"Max","email":"max","room":""}` + "\n" + `{"department":"\n","name":"Emmy","email":"emmy"}`,
			"200 " + program.Imported(2, 0, 0, 0)},
		exchange{"CSV shows null and an empty text alike", "GET /api/users.csv", "",
			"200 id,name,email,created_at…,room,department\r\n1,Ada,ada,T…,7,\"R&D, \"\"é\"\"\"\r\n2,Alan,alan,T…,,\r\n" +
				"3,Max,max,T…,,\r\n4,Emmy,emmy,T…,,\"\n\"\r\n"},
		exchange{"NDJSON shows them apart", "GET /api/users.ndjson?after=2", "",
			`200 {"id":3,"name":"Max","email":"max","created_at":"T","room":"","department":null}` + "\n" +
				`{"id":4,"name":"Emmy","email":"emmy","created_at":"T","room":null,"department":"\n"}` + "\n"},
		exchange{"each line changes what it has", "POST /api/users.ndjson?on_conflict=update",
			`{"name":"Ada","email":"ada"}` + "\n" + `{"name":"Max","email":"max","department":"Navy"}` + "\n" +
				`{"name":"Emmy","email":"emmy","room":"","department":null}`, "200 " + program.Imported(0, 2, 1, 0)},
		exchange{"a file changes the columns that it has", "POST /api/users.csv?on_conflict=update",
			"department,name,email\n,Ada,ada\nNavy,Max,max\n", "200 " + program.Imported(0, 1, 1, 0)},
		exchange{"after these", "GET /api/users", "", `200 [` +
			`{"id":1,"name":"Ada","email":"ada","created_at":"T","room":"7","department":null},` +
			`{"id":2,"name":"Alan","email":"alan","created_at":"T","room":null,"department":null},` +
			`{"id":3,"name":"Max","email":"max","created_at":"T","room":"","department":"Navy"},` +
			`{"id":4,"name":"Emmy","email":"emmy","created_at":"T","room":"","department":null}]`},
		exchange{"refused lines name the field", "POST /api/users.ndjson",
			`{"name":"n","email":"n"}` + "\n" + `{"name":"o","email":"o","room":5}` + "\n" + `{"name":"p","email":"p","department":[]}`,
			`422 {"error":"2 of 3 rows cannot be imported; nothing was stored","rows":[` +
				`{"line":2,"error":"room must be text or null"},{"line":3,"error":"department must be text or null"}]}`},
		exchange{"a repeated column", "POST /api/users.csv", "name,email,room,ROOM\nn,n,1,2\n",
			`400 {"error":"The header has the column room twice"}`},
		exchange{"a missing column", "POST /api/users.csv", "name,room\nn,1\n", `400 {"error":"The first line of the file must name the columns: it has \"name\" and \"room\", and not \"email\""}`},
		exchange{"a field is no parameter of an import", "POST /api/users.csv?room=1", "name,email\nn,n\n",
			`400 {"error":"Unknown parameter \"room\": an import takes dry_run, on_conflict, on_missing, max_deletes and spreadsheet"}`},
	)
}

// A formula may begin in any cell, and within one.
func TestSpreadsheetsGiveBackWhatWasStored(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "USER_FIELDS=room,department")
	for _, body := range []string{`{"name":"A","email":"a","room":"'@x"}`, `{"name":"B","email":"b","department":"x\n-1"}`} {
		p.Do(t, "POST", "/api/users", body)
	}
	before := p.Do(t, "GET", "/api/users.ndjson", "").Body
	file := p.Do(t, "GET", "/api/users.csv?spreadsheet=true", "").Body
	expect(t, p, exchange{"the file", "GET /api/users.csv?spreadsheet=true&limit=2", "",
		"200 \ufeffid,name,email,created_at…,room,department\r\n1,A,a,T…,''@x,\r\n2,B,b,T…,,\"x\n'-1\"\r\n"},
		exchange{"back", "POST /api/users.csv?spreadsheet=true&on_conflict=update", file,
			`200 {"created":0,"updated":0,"skipped":2,"deleted":0,"ignored_columns":["id","created_at"]}`})
	if after := p.Do(t, "GET", "/api/users.ndjson", "").Body; after != before {
		t.Errorf("the users were\n%s and are\n%s", before, after)
	}
}
