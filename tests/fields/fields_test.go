// Package fields proves that a field of a user is defined in one place: it makes the change that CONTRIBUTING.md shows in
// a copy of the program, and uses the new field wherever a user is shown or stored.
package fields

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"users-api/tests/program"
)

func TestMain(m *testing.M) { program.Main(m) }

func TestTheChangeInCONTRIBUTINGAddsAFieldEverywhere(t *testing.T) {
	binary, files, lines := program.BuildWithPhone(t)
	if files > 3 || lines > 30 {
		t.Errorf("the change touches %d Go files and %d lines", files, lines)
	}
	p := program.Start(t, binary)
	t.Run("a user", func(t *testing.T) { useOfOneUser(t, p) })
	t.Run("lists and searches", func(t *testing.T) { useInLists(t, p) })
	t.Run("files", func(t *testing.T) { useInFiles(t, p) })
	t.Run("the page and the document", func(t *testing.T) { useInBrowsers(t, p) })
	t.Run("after a restart", func(t *testing.T) { useAfterRestart(t, p, binary) })
}

// send sends a request and returns the status, a space and the body, with each time as T.
func send(t *testing.T, p *program.Program, method, path, body string) string {
	t.Helper()
	request, err := http.NewRequest(method, p.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.Status[:3] + " " + times.ReplaceAllString(string(text), "T")
}

var times = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`)

// exchange is a request and its response.
type exchange struct{ name, method, path, body, want string }

func expect(t *testing.T, p *program.Program, exchanges ...exchange) {
	t.Helper()
	for _, e := range exchanges {
		if got := send(t, p, e.method, e.path, e.body); got != e.want {
			t.Errorf("%s: %s %s was answered\n%s, want\n%s", e.name, e.method, e.path, got, e.want)
		}
	}
}

func useOfOneUser(t *testing.T, p *program.Program) {
	expect(t, p,
		exchange{"a text is stored", "POST", "/api/users", `{"name":"Ada","email":"ada","phone":"1815"}`,
			`201 {"id":1,"name":"Ada","email":"ada","phone":"1815"}`},
		exchange{"nothing is null", "POST", "/api/users", `{"name":"Alan","email":"alan"}`,
			`201 {"id":2,"name":"Alan","email":"alan","phone":null}`},
		exchange{"an empty text is one", "POST", "/api/users", `{"name":"Grace","email":"grace","phone":""}`,
			`201 {"id":3,"name":"Grace","email":"grace","phone":""}`},
		exchange{"a number is refused", "POST", "/api/users", `{"name":"n","email":"n","phone":1}`,
			`400 {"error":"phone must be text or null"}`},
		exchange{"PATCH of another field leaves it", "PATCH", "/api/users/1", `{"name":"Ada L"}`,
			`200 {"id":1,"name":"Ada L","email":"ada","created_at":"T","phone":"1815"}`},
		exchange{"PATCH sets it", "PATCH", "/api/users/2", `{"phone":"1912"}`,
			`200 {"id":2,"name":"Alan","email":"alan","created_at":"T","phone":"1912"}`},
		exchange{"PUT without it takes it away", "PUT", "/api/users/2", `{"name":"Alan","email":"alan"}`,
			`200 {"id":2,"name":"Alan","email":"alan","created_at":"T","phone":null}`},
		exchange{"the sentence about keys names it", "PATCH", "/api/users/2", `{"fax":"1"}`,
			`400 {"error":"Unknown key \"fax\": only name, email and phone can be changed"}`},
	)
}

func useInLists(t *testing.T, p *program.Program) {
	ada := `{"id":1,"name":"Ada L","email":"ada","created_at":"T","phone":"1815"}`
	alan := `{"id":2,"name":"Alan","email":"alan","created_at":"T","phone":null}`
	grace := `{"id":3,"name":"Grace","email":"grace","created_at":"T","phone":""}`
	expect(t, p,
		exchange{"the list shows it", "GET", "/api/users", "", "200 [" + ada + "," + alan + "," + grace + "]"},
		exchange{"a filter finds it", "GET", "/api/users?phone=1815", "", "200 [" + ada + "]"},
		exchange{"a filter and an email", "GET", "/api/users?phone=1815&email=alan", "", "200 []"},
		exchange{"a search finds it", "GET", "/api/users?q=81", "", "200 [" + ada + "]"},
		exchange{"a page shows it", "GET", "/api/users?limit=1&order=desc", "", "200 [" + grace + "]"},
	)
}

func useInFiles(t *testing.T, p *program.Program) {
	expect(t, p,
		exchange{"CSV has the column", "GET", "/api/users.csv", "",
			"200 id,name,email,created_at,phone\r\n1,Ada L,ada,T,1815\r\n2,Alan,alan,T,\r\n3,Grace,grace,T,\r\n"},
		exchange{"a file without it leaves it alone", "POST", "/api/users.csv?on_conflict=update", "name,email\nAda,ada\n",
			`200 {"created":0,"updated":1,"skipped":0,"deleted":0,"ignored_columns":[]}`},
		exchange{"it is still there", "GET", "/api/users?email=ada", "",
			`200 [{"id":1,"name":"Ada","email":"ada","created_at":"T","phone":"1815"}]`},
		exchange{"a file with it changes it", "POST", "/api/users.csv?on_conflict=update",
			"phone,email,name\n1,ada,Ada\n,grace,Grace\n2,new,New\n",
			`200 {"created":1,"updated":2,"skipped":0,"deleted":0,"ignored_columns":[]}`},
		exchange{"lines with and without it", "POST", "/api/users.ndjson?on_conflict=update",
			`{"name":"Ada L","email":"ada"}` + "\n" + `{"name":"New","email":"new","phone":null}` + "\n",
			`200 {"created":0,"updated":2,"skipped":0,"deleted":0,"ignored_columns":[]}`},
		exchange{"NDJSON has it", "GET", "/api/users.ndjson", "",
			`200 {"id":1,"name":"Ada L","email":"ada","created_at":"T","phone":"1"}` + "\n" +
				`{"id":2,"name":"Alan","email":"alan","created_at":"T","phone":null}` + "\n" +
				`{"id":3,"name":"Grace","email":"grace","created_at":"T","phone":null}` + "\n" +
				`{"id":4,"name":"New","email":"new","created_at":"T","phone":null}` + "\n"},
	)
}

func useInBrowsers(t *testing.T, p *program.Program) {
	for path, want := range map[string]string{
		"/":             `data-field="phone"`,
		"/openapi.json": `"phone"`,
	} {
		if got := send(t, p, "GET", path, ""); !strings.Contains(got, want) {
			t.Errorf("%s has no %s", path, want)
		}
	}
}

// useAfterRestart starts the changed program on a table that was made without the field.
func useAfterRestart(t *testing.T, p *program.Program, binary string) {
	before := send(t, p, "GET", "/api/users", "")
	again := program.Start(t, binary, "DATA_DIR="+p.DataDir)
	if got := send(t, again, "GET", "/api/users", ""); got != before {
		t.Errorf("another process shows %s, want %s", got, before)
	}
}
