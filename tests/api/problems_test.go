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
	Type, Title  string
	Status       int
	Detail, Code string
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
	"Email is already used by another user": "email_used", "Method not allowed": "method_not_allowed",
	"Name and email are required": "field_missing", "Not found": "path_not_found", "Requests from": "cross_site",
	"The field ": "field_invalid", "The parameter ": "parameter_invalid",
	"The request body is compressed": "body_invalid",
	"The request body is larger":     "body_too_large", "The request body is not": "body_invalid",
	"The request body must be a JSON object": "body_invalid", "The user was changed": "changed_meanwhile",
	"Unknown key": "field_unknown", "Unknown parameter": "parameter_unknown", "User not found": "user_not_found",
	"id and created_at cannot be changed": "field_read_only",
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
			program.Must(t, json.Unmarshal([]byte(plain.Body), &said))
			want := problem{"about:blank", http.StatusText(plain.Status), plain.Status, said.Error, ""}
			for begin, code := range codes {
				if strings.HasPrefix(said.Error, begin) {
					want.Code = code
				}
			}
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
	p.ExpectUsers(t, "Ada", "Alan")
}

func TestStoragesErrorsAreProblemsToo(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	program.OpenOther(t, p.DatabasePath()).Do("DROP TABLE users")
	for _, path := range []string{"/api/users", "/api/users/1", "/api/users?q=a"} {
		answer := p.Do(t, "GET", path, "", "Accept: "+problemType)
		want := problem{"about:blank", "Internal Server Error", 500, program.NoTable, "storage_failed"}
		if got := readProblem(t, answer); got != want || answer.Status != 500 {
			t.Errorf("%s is answered %d %+v, want %+v", path, answer.Status, got, want)
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
		"application/problem+xml": false, problemType + "x": false, problemType + ";q=0": false, problemType + ";q=high": false,
		"application/json, " + problemType + "; Q=0.000": false, problemType + "; charset=utf-8": true, problemType + ";q=0.001": true,
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
	p.Do(t, "GET", "/api/users", "", "Accept: "+problemType).Expect(t, 200, p.Do(t, "GET", "/api/users", "").Body)
}

func TestRefusalsOfAccessAreProblemsToo(t *testing.T) {
	t.Parallel()
	p := withKeys(t, fullKey, "ALLOWED_HOSTS=127.0.0.1")
	ask := func(host, key string) program.Answer {
		conn := p.Dial(t)
		conn.Send("DELETE /api/users/1 HTTP/1.1\r\nHost: %s\r\nAccept: text/html\r\nAccept: %s\r\nX-API-Key: %s\r\n\r\n", host, problemType, key)
		return conn.Answer()
	}
	for want, answer := range map[problem]program.Answer{
		{"about:blank", "Unauthorized", 401, "An API key is needed", "key_missing"}:                                  ask("127.0.0.1", ""),
		{"about:blank", "Unauthorized", 401, "The API key is not valid", "key_invalid"}:                              ask("127.0.0.1", "x"),
		{"about:blank", "Forbidden", 403, "This API key can only read", "key_read_only"}:                             ask("127.0.0.1", readKey),
		{"about:blank", "Misdirected Request", 421, `This service does not answer for the host "x"`, "host_refused"}: ask("x", ""),
	} {
		if got := readProblem(t, answer); got != want || answer.Status != want.Status {
			t.Errorf("answered %d %+v, want %+v", answer.Status, got, want)
		}
		vary := map[bool]string{true: "Accept", false: "Authorization, X-API-Key, Accept"}[want.Status == 421]
		program.ExpectHeader(t, answer, "Vary", vary)
	}
}
