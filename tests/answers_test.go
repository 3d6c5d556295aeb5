package tests

import (
	"net/http"
	"strings"
	"testing"

	"users-api/tests/program"
)

// A scenario is one request to a program that has the user 1, Ada, and what must come back.
type scenario struct {
	name     string
	method   string
	path     string
	body     string
	header   string // "Name: value"
	status   int
	exact    string   // the whole body; with exact and contains empty there must be none
	contains []string // each must be in the body
	answers  []string // header lines that must be answered
	keeps    bool     // nothing may have been stored or deleted
}

const (
	required = `{"error":"Name and email are required"}`
	noUser   = `{"error":"User not found"}`
	noPath   = `{"error":"Not found"}`
	jsonType = "Content-Type: application/json; charset=utf-8"
)

var scenarios = []scenario{
	// The specification's shapes.
	{name: "health is ok", method: "GET", path: "/health", status: 200, exact: `{"status":"ok"}`, answers: []string{jsonType}, keeps: true},
	{name: "a creation echoes what was sent, with its id", method: "POST", path: "/api/users", body: `{"name":"Alan","email":"alan@example.org"}`,
		status: 201, exact: `{"id":2,"name":"Alan","email":"alan@example.org"}`, answers: []string{jsonType}},
	{name: "a deletion answers without a body", method: "DELETE", path: "/api/users/1", status: 204},
	{name: "a duplicate email is storage's error, in its words", method: "POST", path: "/api/users", body: `{"name":"Other","email":"ada@example.org"}`,
		status: 500, exact: `{"error":"constraint failed: UNIQUE constraint failed: users.email (2067)"}`, answers: []string{jsonType}, keeps: true},
	{name: "deleting nobody is not found", method: "DELETE", path: "/api/users/2", status: 404, exact: noUser, answers: []string{jsonType}, keeps: true},

	// name or email missing.
	{name: "a missing email is refused", method: "POST", path: "/api/users", body: `{"name":"A"}`, status: 400, exact: required, answers: []string{jsonType}, keeps: true},
	{name: "a missing name is refused", method: "POST", path: "/api/users", body: `{"email":"a@b"}`, status: 400, exact: required, keeps: true},
	{name: "an empty name is refused", method: "POST", path: "/api/users", body: `{"name":"","email":"a@b"}`, status: 400, exact: required, keeps: true},
	{name: "an empty email is refused", method: "POST", path: "/api/users", body: `{"name":"A","email":""}`, status: 400, exact: required, keeps: true},
	{name: "a null name is refused", method: "POST", path: "/api/users", body: `{"name":null,"email":"a@b"}`, status: 400, exact: required, keeps: true},
	{name: "an empty object is refused", method: "POST", path: "/api/users", body: `{}`, status: 400, exact: required, keeps: true},
	{name: "null is refused", method: "POST", path: "/api/users", body: `null`, status: 400, exact: required, keeps: true},
	{name: "an empty body is refused", method: "POST", path: "/api/users", status: 400, exact: required, keeps: true},
	{name: "a blank body is refused", method: "POST", path: "/api/users", body: " \n", status: 400, exact: required, keeps: true},
	{name: "keys in another case are other keys", method: "POST", path: "/api/users", body: `{"Name":"A","EMAIL":"a@b"}`, status: 400, exact: required, keeps: true},

	// Not one JSON object.
	{name: "half an object is refused", method: "POST", path: "/api/users", body: `{"name":"A","email":"a@b"`, status: 400, contains: []string{"not valid JSON"}, keeps: true},
	{name: "text that is no JSON is refused", method: "POST", path: "/api/users", body: `name=A&email=a@b`, status: 400, contains: []string{"not valid JSON", "byte 2"}, keeps: true},
	{name: "text after the object is refused", method: "POST", path: "/api/users", body: `{"name":"A","email":"a@b"} x`, status: 400, contains: []string{"not valid JSON"}, keeps: true},
	{name: "two objects are refused", method: "POST", path: "/api/users", body: `{"name":"A","email":"a@b"}{"name":"B","email":"b@b"}`, status: 400, contains: []string{"not valid JSON"}, keeps: true},
	{name: "an array is refused", method: "POST", path: "/api/users", body: `[{"name":"A","email":"a@b"}]`, status: 400, exact: `{"error":"The request body must be a JSON object, not an array"}`, keeps: true},
	{name: "a bare string is refused", method: "POST", path: "/api/users", body: `"A"`, status: 400, exact: `{"error":"The request body must be a JSON object, not a string"}`, keeps: true},
	{name: "a bare false is refused", method: "POST", path: "/api/users", body: `false`, status: 400, exact: `{"error":"The request body must be a JSON object, not true or false"}`, keeps: true},
	{name: "a number for a name is refused", method: "POST", path: "/api/users", body: `{"name":5,"email":"a@b"}`, status: 400, exact: `{"error":"The field name must be a string, not a number"}`, keeps: true},
	{name: "an object for an email is refused", method: "POST", path: "/api/users", body: `{"name":"A","email":{}}`, status: 400, exact: `{"error":"The field email must be a string, not an object"}`, keeps: true},
	{name: "an array for an email is refused", method: "POST", path: "/api/users", body: `{"name":"A","email":[]}`, status: 400, exact: `{"error":"The field email must be a string, not an array"}`, keeps: true},
	{name: "true for a name is refused", method: "POST", path: "/api/users", body: `{"name":true,"email":"a@b"}`, status: 400, exact: `{"error":"The field name must be a string, not true or false"}`, keeps: true},
	{name: "bytes that are not UTF-8 are refused", method: "POST", path: "/api/users", body: "{\"name\":\"\xff\",\"email\":\"a@b\"}", status: 400, exact: `{"error":"The request body is not UTF-8 text"}`, keeps: true},
	{name: "nesting without end is refused", method: "POST", path: "/api/users", body: strings.Repeat("[", 100_000), status: 400, contains: []string{"not valid JSON"}, keeps: true},

	// Stored as sent.
	{name: "white space is a value and is not trimmed", method: "POST", path: "/api/users", body: `{"name":" ","email":"\t"}`, status: 201, exact: `{"id":2,"name":" ","email":"\t"}`},
	{name: "letter case is kept, and no format is checked", method: "POST", path: "/api/users", body: `{"name":"ADA","email":"ADA@Example.ORG"}`, status: 201, exact: `{"id":2,"name":"ADA","email":"ADA@Example.ORG"}`},
	{name: "unknown keys are ignored, an id and a time too", method: "POST", path: "/api/users", body: `{"id":77,"created_at":"1999-01-01 00:00:00","admin":true,"name":"A","email":"a@b"}`, status: 201, exact: `{"id":2,"name":"A","email":"a@b"}`},
	{name: "any content type is read as JSON", method: "POST", path: "/api/users", header: "Content-Type: application/x-www-form-urlencoded", body: `{"name":"A","email":"a@b"}`, status: 201, exact: `{"id":2,"name":"A","email":"a@b"}`},
	{name: "text is not HTML-escaped", method: "POST", path: "/api/users", body: `{"name":"<b>&\u00e9 \ud83d\ude00</b>","email":"a@b"}`, status: 201, exact: `{"id":2,"name":"<b>&é 😀</b>","email":"a@b"}`},
	{name: "quotes, backslashes and NUL come back", method: "POST", path: "/api/users", body: `{"name":"\"\\\u0000","email":"a@b"}`, status: 201, exact: `{"id":2,"name":"\"\\\u0000","email":"a@b"}`},
	{name: "SQL is text", method: "POST", path: "/api/users", body: `{"name":"'); DROP TABLE users; --","email":"a@b"}`, status: 201, exact: `{"id":2,"name":"'); DROP TABLE users; --","email":"a@b"}`},

	// Size.
	{name: "a body of 1 MiB is taken", method: "POST", path: "/api/users", body: `{"name":"` + strings.Repeat("a", 1<<20-25) + `","email":"a@b"}`, status: 201, contains: []string{`{"id":2,"name":"aaa`}},
	{name: "a body over 1 MiB is too large", method: "POST", path: "/api/users", body: `{"name":"` + strings.Repeat("a", 1<<20-24) + `","email":"a@b"}`, status: 413, exact: `{"error":"The request body is larger than 1 MiB"}`, keeps: true},

	// Browsers on other sites.
	{name: "another site's browser cannot create", method: "POST", path: "/api/users", header: "Sec-Fetch-Site: cross-site", body: `{"name":"A","email":"a@b"}`, status: 403, contains: []string{"another site"}, keeps: true},
	{name: "another site's older browser cannot create", method: "POST", path: "/api/users", header: "Origin: https://evil.example", body: `{"name":"A","email":"a@b"}`, status: 403, contains: []string{"another site"}, keeps: true},
	{name: "another site's browser cannot delete", method: "DELETE", path: "/api/users/1", header: "Sec-Fetch-Site: cross-site", status: 403, contains: []string{"another site"}, keeps: true},
	{name: "the same site's browser can create", method: "POST", path: "/api/users", header: "Sec-Fetch-Site: same-origin", body: `{"name":"A","email":"a@b"}`, status: 201, exact: `{"id":2,"name":"A","email":"a@b"}`},

	// Ids that are nobody's.
	{name: "an id of letters is nobody's", method: "DELETE", path: "/api/users/abc", status: 404, exact: noUser, keeps: true},
	{name: "an id with a fraction is nobody's", method: "DELETE", path: "/api/users/1.0", status: 404, exact: noUser, keeps: true},
	{name: "an id with a plus is nobody's", method: "DELETE", path: "/api/users/+1", status: 404, exact: noUser, keeps: true},
	{name: "an id with a leading zero is nobody's", method: "DELETE", path: "/api/users/01", status: 404, exact: noUser, keeps: true},
	{name: "an id with a space is nobody's", method: "DELETE", path: "/api/users/%201", status: 404, exact: noUser, keeps: true},
	{name: "an id in hexadecimal is nobody's", method: "DELETE", path: "/api/users/0x1", status: 404, exact: noUser, keeps: true},
	{name: "an id with an exponent is nobody's", method: "DELETE", path: "/api/users/1e0", status: 404, exact: noUser, keeps: true},
	{name: "an id with SQL is nobody's", method: "DELETE", path: "/api/users/1%20OR%201=1", status: 404, exact: noUser, keeps: true},
	{name: "an id that is too large is nobody's", method: "DELETE", path: "/api/users/18446744073709551617", status: 404, exact: noUser, keeps: true},
	{name: "minus zero is nobody's", method: "DELETE", path: "/api/users/-0", status: 404, exact: noUser, keeps: true},

	// Paths and methods.
	{name: "an unknown path is not found", method: "GET", path: "/", status: 404, exact: noPath, answers: []string{jsonType}, keeps: true},
	{name: "a trailing slash is another path", method: "GET", path: "/api/users/", status: 404, exact: noPath, keeps: true},
	{name: "posting to a trailing slash creates nothing", method: "POST", path: "/api/users/", body: `{"name":"A","email":"a@b"}`, status: 404, exact: noPath, keeps: true},
	{name: "a doubled slash is another path", method: "GET", path: "//api/users", status: 404, exact: noPath, keeps: true},
	{name: "a doubled slash within is another path", method: "GET", path: "/api//users", status: 404, exact: noPath, keeps: true},
	{name: "another case is another path", method: "GET", path: "/API/users", status: 404, exact: noPath, keeps: true},
	{name: "a path below a user is not found", method: "DELETE", path: "/api/users/1/x", status: 404, exact: noPath, keeps: true},
	{name: "a method that the list has not is named", method: "PUT", path: "/api/users", status: 405, exact: `{"error":"Method not allowed"}`, answers: []string{jsonType, "Allow: GET, HEAD, POST"}, keeps: true},
	{name: "a method that a user has not is named", method: "GET", path: "/api/users/1", status: 405, exact: `{"error":"Method not allowed"}`, answers: []string{"Allow: DELETE"}, keeps: true},
	{name: "OPTIONS is no exception", method: "OPTIONS", path: "/health", status: 405, contains: []string{"Method not allowed"}, answers: []string{"Allow: GET, HEAD"}, keeps: true},
	{name: "HEAD of health is its GET without the body", method: "HEAD", path: "/health", status: 200, answers: []string{jsonType, "Content-Length: 15"}, keeps: true},
	{name: "HEAD of the list is its GET without the body", method: "HEAD", path: "/api/users", status: 200, answers: []string{jsonType, "Content-Length: 84"}, keeps: true},
}

func TestAnswers(t *testing.T) {
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := start(t)
			p.Create(t, "Ada", "ada@example.org")
			before := p.Do(t, http.MethodGet, "/api/users", "").Body

			check(t, s, p.Do(t, s.method, s.path, s.body, header(s)...))

			if after := p.Do(t, http.MethodGet, "/api/users", "").Body; s.keeps && after != before {
				t.Errorf("the users were %s and are %s", before, after)
			}
			forbid(t, p.Log(), "ada@example.org", "Ada", "a@b", "goroutine")
		})
	}
}

func header(s scenario) []string {
	if s.header == "" {
		return nil
	}
	return []string{s.header}
}

func check(t *testing.T, s scenario, answer program.Answer) {
	t.Helper()
	if answer.Status != s.status {
		t.Errorf("answered %d, want %d: %.300s", answer.Status, s.status, answer.Body)
	}
	if len(s.contains) == 0 && answer.Body != s.exact {
		t.Errorf("answered %.300s, want %s", answer.Body, s.exact)
	}
	for _, text := range s.contains {
		if !strings.Contains(answer.Body, text) {
			t.Errorf("answered %.300s, without %q", answer.Body, text)
		}
	}
	for _, line := range append(s.answers, "X-Content-Type-Options: nosniff") {
		name, value, _ := strings.Cut(line, ": ")
		if got := strings.Join(answer.Header.Values(name), ", "); got != value {
			t.Errorf("the header %s is %q, want %q", name, got, value)
		}
	}
	forbid(t, answer.Body, "Go ", "json:", "EOF", "models.", "NewUser", "unmarshal", "controllers", "sql:")
}

// forbid fails the test when a text holds what nobody may see.
func forbid(t *testing.T, text string, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		if strings.Contains(text, secret) {
			t.Errorf("%q stands in: %.500s", secret, text)
		}
	}
}
