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
