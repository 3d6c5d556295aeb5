package fields

import (
	"testing"

	"users-api/tests/program"
)

func TestAFieldThatIsNoLongerSetKeepsItsValues(t *testing.T) {
	t.Parallel()
	with := program.Serve(t, "USER_FIELDS=room,city")
	expect(t, with, exchange{"with both fields", "POST /api/users", `{"name":"Ada","email":"ada","room":"1815","city":"London"}`,
		`201 {"id":1,"name":"Ada","email":"ada","room":"1815","city":"London"}`})
	with.Stop(t)

	without := program.Serve(t, "USER_FIELDS=city", "DATA_DIR="+with.DataDir)
	expect(t, without,
		exchange{"it is not shown", "GET /api/users", "", `200 [{"id":1,"name":"Ada","email":"ada","created_at":"T","city":"London"}]`},
		exchange{"nor exported", "GET /api/users.csv", "", "200 id,name,email,created_at…,city\r\n1,Ada,ada,T…,London\r\n"},
		exchange{"nor searched", "GET /api/users?q=1815", "", "200 []"},
		exchange{"nor a filter", "GET /api/users?room=1815", "", `400 {"error":"Unknown parameter \"room\": …"}`},
		exchange{"PATCH does not know it", "PATCH /api/users/1", `{"room":"1"}`, `400 {"error":"Unknown key \"room\": …"}`},
		exchange{"PUT does not clear it", "PUT /api/users/1", `{"name":"Ada L","email":"ada"}`,
			`200 {"id":1,"name":"Ada L","email":"ada","created_at":"T","city":null}`},
		exchange{"an import does not set it", "POST /api/users.csv?on_conflict=update",
			"name,email,room\nAda K,ada,7\n", `200 {"created":0,"updated":1,…"ignored_columns":["room"]}`},
		exchange{"nor a new user", "POST /api/users", `{"name":"Alan","email":"a","room":"7"}`, `201 {…"city":null}`},
	)
	without.Stop(t)

	again := program.Serve(t, "USER_FIELDS=city,room", "DATA_DIR="+with.DataDir)
	expect(t, again, exchange{"it is there again, in the order of the setting", "GET /api/users", "",
		`200 [{"id":1,"name":"Ada K","email":"ada","created_at":"T","city":null,"room":"1815"},` +
			`{"id":2,"name":"Alan","email":"a","created_at":"T","city":null,"room":null}]`})
}
