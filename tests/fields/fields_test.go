// Package fields proves that a field of a user is defined in one place: it makes the change that CONTRIBUTING.md shows in
// a copy of the program, and uses the new field wherever a user is shown or stored.
package fields

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"users-api/tests/program"
)

const root = "../.."

func TestMain(m *testing.M) { program.Main(m) }

func TestTheChangeInCONTRIBUTINGAddsAFieldEverywhere(t *testing.T) {
	changed := copyTree(t)
	files, lines := applyDiff(t, changed, adding(t))
	if files > 3 || lines > 30 {
		t.Errorf("the change touches %d Go files and %d lines", files, lines)
	}
	p := program.Start(t, build(t, changed))
	t.Run("a user", func(t *testing.T) { useOfOneUser(t, p) })
	t.Run("lists and searches", func(t *testing.T) { useInLists(t, p) })
	t.Run("files", func(t *testing.T) { useInFiles(t, p) })
	t.Run("the page and the document", func(t *testing.T) { useInBrowsers(t, p) })
	t.Run("after a restart", func(t *testing.T) { useAfterRestart(t, p, changed) })
}

// adding returns the change that CONTRIBUTING.md shows.
func adding(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(root + "/CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## Adding a field\n")
	_, diff, open := strings.Cut(section, "```diff\n")
	diff, _, closed := strings.Cut(diff, "```")
	if !found || !open || !closed {
		t.Fatal("CONTRIBUTING.md has no section with a diff that adds a field")
	}
	return diff
}

// copyTree copies what the program is built from.
func copyTree(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	for _, name := range []string{"main.go", "go.mod", "go.sum", "commands", "config", "controllers", "headers", "models", "routes", "web"} {
		if output, err := exec.Command("cp", "-r", filepath.Join(root, name), directory).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, output)
		}
	}
	return directory
}

var hunk = regexp.MustCompile(`(?m)^@@.*\n`)

// applyDiff applies a diff to the files of a directory, and returns how many Go files and lines it changes.
func applyDiff(t *testing.T, directory, diff string) (files, lines int) {
	t.Helper()
	for _, part := range strings.Split(diff, "--- ")[1:] {
		name, hunks, _ := strings.Cut(part, "\n")
		if filepath.Ext(name) == ".go" {
			files++
		}
		path := filepath.Join(directory, name)
		if _, err := os.Stat(path); err != nil && strings.HasPrefix(name, "tests/") {
			path = ""
		}
		for _, change := range hunk.Split(hunks, -1)[1:] {
			lines += strings.Count("\n"+change, "\n+") + strings.Count("\n"+change, "\n-")
			if path != "" {
				applyHunk(t, path, change)
			}
		}
	}
	return files, lines
}

// applyHunk replaces the lines of a hunk that are there by those that shall be.
func applyHunk(t *testing.T, path, change string) {
	t.Helper()
	var before, after strings.Builder
	for line := range strings.Lines(change) {
		if line[0] != '+' {
			before.WriteString(line[1:])
		}
		if line[0] != '-' {
			after.WriteString(line[1:])
		}
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Count(string(text), before.String()) != 1 {
		t.Fatalf("%s does not have these lines once, %v:\n%s", path, err, before.String())
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), before.String(), after.String(), 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func build(t *testing.T, directory string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "users-api")
	command := exec.Command("go", "build", "-tags", "nomsgpack", "-o", path, ".")
	command.Dir = directory
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return path
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
func useAfterRestart(t *testing.T, p *program.Program, changed string) {
	before := send(t, p, "GET", "/api/users", "")
	again := program.Start(t, build(t, changed), "DATA_DIR="+p.DataDir)
	if got := send(t, again, "GET", "/api/users", ""); got != before {
		t.Errorf("another process shows %s, want %s", got, before)
	}
}
