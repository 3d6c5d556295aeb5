package api

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"users-api/tests/program"
)

const problemType = "application/problem+json"

// A problem is an error as RFC 9457 describes it.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Code   string `json:"code"`
}

func readProblem(t *testing.T, answer program.Answer) (got problem) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(answer.Body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&got); err != nil {
		t.Errorf("%v: %.300s", err, answer.Body)
	}
	program.ExpectHeader(t, answer, "Content-Type", problemType)
	return got
}

// codes are the codes of errors by how their sentences begin.
var codes = map[string]string{
	"Email is already used by another user":  "email_used",
	"Method not allowed":                     "method_not_allowed",
	"Name and email are required":            "field_missing",
	"Not found":                              "path_not_found",
	"Requests from a browser":                "cross_site",
	"The field ":                             "field_invalid",
	"The parameter ":                         "parameter_invalid",
	"The request body has half":              "body_invalid",
	"The request body is larger":             "body_too_large",
	"The request body is not":                "body_invalid",
	"The request body must be a JSON object": "body_invalid",
	"The user was changed":                   "changed_meanwhile",
	"Unknown key":                            "field_unknown",
	"Unknown parameter":                      "parameter_unknown",
	"User not found":                         "user_not_found",
	"id and created_at cannot be changed":    "field_read_only",
}

func codeOf(sentence string) string {
	for begin, code := range codes {
		if strings.HasPrefix(sentence, begin) {
			return code
		}
	}
	return ""
}

// Every refusal of the other tables is asked for twice: as an error object and as a problem. They must say the same.
func TestEveryErrorIsAProblemForClientsThatAsk(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada", "ada@example.org")
	p.Create(t, "Alan", "alan@example.org")
	for _, s := range slices.Concat(scenarios, changes) {
		lines := strings.Split(s.request, "\n")
		method, path, _ := strings.Cut(lines[0], " ")
		if s.status < 400 || method == "HEAD" || path == "/api/users/2" || s.answer == nulStored.answer {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			plain := p.Do(t, method, path, s.body, lines[1:]...)
			answer := p.Do(t, method, path, s.body, append(lines[1:], "Accept: "+problemType)...)
			var said struct{ Error string }
			if err := json.Unmarshal([]byte(plain.Body), &said); err != nil {
				t.Fatal(err)
			}
			want := problem{"about:blank", http.StatusText(plain.Status), plain.Status, said.Error, codeOf(said.Error)}
			if plain.Status == 500 { // storage's own text of a duplicate
				want = problem{"about:blank", "Conflict", 409, "Email is already used by another user", "email_used"}
			}
			if got := readProblem(t, answer); got != want || answer.Status != want.Status {
				t.Errorf("answered %d %+v, want %+v", answer.Status, got, want)
			}
			for _, name := range []string{"Allow", "ETag"} {
				program.ExpectHeader(t, answer, name, plain.Header.Get(name))
			}
		})
	}
	if users := p.List(t); len(users) != 2 {
		t.Errorf("the users are %v", users)
	}
}

func TestStoragesErrorsAreProblemsToo(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	program.OpenOther(t, p.DatabasePath()).Do("DROP TABLE users")
	for _, request := range []string{"GET /api/users", "GET /api/users/1", "DELETE /api/users/1", "GET /api/users?q=a"} {
		method, path, _ := strings.Cut(request, " ")
		answer := p.Do(t, method, path, "", "Accept: "+problemType)
		want := problem{"about:blank", "Internal Server Error", 500, program.NoTable, "storage_failed"}
		if got := readProblem(t, answer); got != want || answer.Status != 500 {
			t.Errorf("%s is answered %d %+v", request, answer.Status, got)
		}
	}
}

// Other clients see no difference, and a success is never a problem.
func TestOtherClientsSeeNoProblems(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada", "ada@example.org")
	duplicate := program.Body("Other", "ada@example.org")
	plain := p.Do(t, "POST", "/api/users", duplicate)
	for accept, asked := range map[string]bool{
		"": false, "*/*": false, "application/*": false, "application/json": false, "text/html,*/*;q=0.8": false,
		"application/problem+xml": false, problemType + ";q=0": false,
		problemType: true, "application/json, " + problemType: true, problemType + ";q=0.5": true,
		"Application/Problem+JSON": true,
	} {
		answer := p.Do(t, "POST", "/api/users", duplicate, "Accept: "+accept)
		if isProblem := answer.Header.Get("Content-Type") == problemType; isProblem != asked {
			t.Errorf("Accept: %s is answered %s", accept, answer.Body)
		}
		if !asked && (answer.Body != plain.Body || answer.Status != 500) {
			t.Errorf("Accept: %s is answered %d %s", accept, answer.Status, answer.Body)
		}
	}
	list := p.Do(t, "GET", "/api/users", "")
	if asked := p.Do(t, "GET", "/api/users", "", "Accept: "+problemType); asked.Body != list.Body || asked.Status != 200 {
		t.Errorf("a list is answered %d %s", asked.Status, asked.Body)
	}
}

func TestTheFeedsProblemsHaveCodes(t *testing.T) {
	t.Parallel()
	for code, answer := range map[string]program.Answer{
		"changes_off": program.Serve(t).Do(t, "GET", "/api/changes", "", "Accept: "+problemType),
		"cursor_gone": program.ServeFeed(t).Do(t, "GET", "/api/changes?after=1", "", "Accept: "+problemType),
	} {
		if got := readProblem(t, answer).Code; got != code {
			t.Errorf("answered %s, want %s", answer.Body, code)
		}
	}
}
