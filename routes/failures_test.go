package routes

import (
	"fmt"
	"strings"
	"testing"

	"users-api/database"
	"users-api/models"
	"users-api/tests/failing"
	"users-api/tests/program"
)

// A request of which a statement fails is answered with the error of the database, and never with a part of an answer, or as
// if nobody were found.
func TestNoFailureOfAStatementIsHiddenFromAClient(t *testing.T) {
	t.Parallel()
	const (
		scim  = "/scim/v2/Users"
		added = `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":"scim%d","displayName":"n"}`
		patch = `{"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],` +
			`"Operations":[{"op":"replace","path":"displayName","value":"n%d"}]}`
		again = "an import whose statement is refused is done again, in steps"
	)
	for _, test := range []struct {
		request, body string // with the number of the statement for %d
		status        int
		want          string
		heals         string // says why it may succeed, as a whole, although a statement has failed
	}{
		{"GET /api/users", "", 200, `[{"id":1,…},{"id":2,…},{"id":3,…}]`, ""},
		{"GET /api/users?limit=2&count=true", "", 200, `[{"id":1,…},{"id":2,…}]`, ""},
		{"GET /api/users?sort=name&order=desc&limit=2", "", 200, `[{"id":3,…},{"id":2,…}]`, ""},
		{"GET /api/users?q=rac", "", 200, `[{"id":3,…}]`, ""},
		{"GET /api/users?email=alan", "", 200, `[{"id":2,…}]`, ""},
		{"GET /api/users/2", "", 200, `{"id":2,…}`, ""},
		{"GET /api/users/alan@x", "", 404, "…", ""},
		{"GET /api/users.csv", "", 200, "id,…\r\n1,…\r\n2,…\r\n3,…\r\n", ""},
		{"GET /api/users.ndjson?q=a", "", 200, "{\"id\":1,…}\n{\"id\":2,…}\n{\"id\":3,…}\n", ""},
		{"GET /api/changes", "", 200, `{"changes":[…`, ""},
		{"GET /api/users/2/changes", "", 200, `{"changes":[{…"op":"created","id":2,…}]}`, ""},
		{"GET /api/users/alan@x/changes", "", 404, "…", ""},
		{"DELETE /api/users/2/changes", "", 204, "", ""},
		{"GET /api/users/deleted?q=gone", "", 200, `[{"id":4,…}]`, ""},
		{"POST /api/users/4/restore", `{"name":"n%d"}`, 201, `{"id":4,…`, ""},
		{"POST " + batchPath, `{"requests":[{"method":"GET","path":"/api/users?limit=1"},{"method":"DELETE","path":"/api/users/2"},` +
			`{"method":"POST","path":"/api/users","body":{"name":"n","email":"new%d"}}]}`, 200,
			`{"responses":[{"status":200,…},{"status":204,…},{"status":201,…}]}`, ""},
		{"POST /api/users", `{"name":"n","email":"new%d"}`, 201, "…", ""},
		{"PATCH /api/users/2", `{"name":"n%d"}`, 200, `{"id":2,"name":"n…`, ""},
		{"PATCH /api/users/2", `{}`, 200, `{"id":2,…`, ""},
		{"PUT /api/users/2", `{"name":"n%d","email":"alan"}`, 200, `{"id":2,"name":"n…`, ""},
		{"PUT /api/users/new@x%d", `{"name":"n"}`, 201, "…", ""},
		{"DELETE /api/users/2", "", 204, "", ""},
		{"DELETE /api/users/new@x", "", 404, "…", ""},
		{"POST /api/users.csv", "name,email\nn,row%d\n", 200, program.Imported(1, 0, 0, 0), again},
		{"POST /api/users.ndjson?on_conflict=update&dry_run=true", `{"name":"n%d","email":"alan"}`, 200,
			program.Imported(0, 1, 0, 0), again},
		{"GET " + scim, "", 200, `{…"totalResults":3,…}`, ""},
		{"GET " + scim + "?count=0", "", 200, `{…"totalResults":3,…}`, ""},
		{"GET " + scim + "?filter=userName%20eq%20%22alan%22", "", 200, `{…"totalResults":1,…}`, ""},
		{"GET " + scim + "/2", "", 200, `{…"id":"2",…}`, ""},
		{"POST " + scim, added, 201, "…", ""},
		{"PUT " + scim + "/2", added, 200, `{…"id":"2",…}`, ""},
		{"PATCH " + scim + "/2", patch, 200, `{…"id":"2",…}`, ""},
		{"DELETE " + scim + "/2", "", 204, "", ""},
	} {
		t.Run(test.request, func(t *testing.T) {
			t.Parallel()
			statements := &failing.Statements{}
			at := location(failing.File(t, statements))
			at.Fields = append(plain(), models.NewFields("external_id", "active")[len(models.NewFields()):]...)
			open := func() *database.Users {
				users, err := at.Open(t.Context(), 1<<20)
				program.Must(t, err)
				return users
			}
			s := serve(t, Service{Users: open(), Fields: at.Fields}, nil)
			for _, name := range []string{"Ada", "Alan", "Grace"} {
				s.Do(t, "POST", "/api/users", fmt.Sprintf(`{"name":%q,"email":%q,"external_id":%[1]q}`, name, strings.ToLower(name)))
			}
			s.Do(t, "POST", "/api/users", program.Body("Gone", "gone"))
			s.Do(t, "DELETE", "/api/users/4", "")
			method, url, _ := strings.Cut(test.request, " ")
			numbered := func(text string, n int) string { return strings.ReplaceAll(text, "%d", fmt.Sprint(n)) }
			for n, failed := 1, "?"; failed != ""; n++ {
				statements.Fail(n)
				answer := s.Do(t, method, numbered(url, n), numbered(test.body, n))
				failed = statements.End()
				if failed == "" || test.heals != "" && answer.Status == test.status {
					answer.Expect(t, test.status, test.want)
				} else if url == batchPath && strings.Contains(failed, " sp") { // GORM's driver does not say that no savepoint was set
					answer.Expect(t, 200, test.want)
				} else if url == batchPath && answer.Status == 200 { // one request of it, perhaps with what follows
					answer.Expect(t, 200, `{"responses":[…{"status":500,…not authorized…}…]}`)
				} else {
					answer.Expect(t, 500, "…not authorized…")
				}
				if url == batchPath {
					s.Do(t, "POST", "/api/users/2/restore", "{}") // for the next one
				}
				if t.Failed() {
					t.Fatalf("where statement %d fails (%s)", n, failed)
				}
				if url == "/api/users" && method == "GET" {
					s.Do(t, "PATCH", "/api/users/1", numbered(`{"name":"n%d"}`, n)) // so that all are read again
				}
			}
		})
	}
}
