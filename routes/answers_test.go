package routes

import (
	"fmt"
	"strings"
	"testing"
)

const (
	ada       = `{"id":1,"name":"Ada","email":"ada@example.org","created_at":"2026-11-20 15:42:07"}`
	alan      = `{"id":2,"name":"Alan","email":"alan@example.org","created_at":"2026-11-20 15:42:07"}`
	adaTag    = `"736b0f744e8ab0fa3352357cfcaf66d8"`
	renamed   = `{"id":1,"name":"B","email":"ada@example.org","created_at":"2026-11-20 15:42:07"}`
	required  = `{"error":"Name and email are required"}`
	noUser    = `{"error":"User not found"}`
	fixed     = `{"error":"id and created_at cannot be changed"}`
	changed   = `{"error":"The user was changed since you read it"}`
	emailUsed = `{"error":"Email is already used by another user"}`
	jsonType  = "Content-Type: application/json; charset=utf-8"
	noCache   = "Cache-Control: no-cache"
)

// A scenario is one request to a service that has Ada, 1, and Alan, 2, and what must come back.
type scenario struct {
	name, method, path, body string
	headers                  []string
	status                   int
	want                     string
	answers                  []string // header lines; "Name: " for one that must be missing
}

var reading = []scenario{
	{name: "one user", method: "GET", path: "/api/users/1", status: 200, want: ada,
		answers: []string{jsonType, noCache, "Content-Length: 82", "ETag: " + adaTag, "Vary: "}},
	{name: "HEAD of a user", method: "HEAD", path: "/api/users/1", status: 200,
		answers: []string{jsonType, noCache, "Content-Length: 82", "ETag: " + adaTag}},
	{name: "a user that the client has", method: "GET", path: "/api/users/1",
		headers: []string{"If-None-Match: " + adaTag},
		status:  304, answers: []string{noCache, "ETag: " + adaTag, "Content-Length: "}},
	{name: "a user that the client has in another line", method: "GET", path: "/api/users/1",
		headers: []string{`If-None-Match: "x"`, `If-None-Match: "y", W/` + adaTag}, status: 304},
	{name: "a user that the client had", method: "GET", path: "/api/users/1", headers: []string{`If-None-Match: "x"`},
		status: 200, want: ada},
	{name: "no user", method: "GET", path: "/api/users/3", status: 404, want: noUser,
		answers: []string{jsonType, "ETag: ", "Cache-Control: "}},
	{name: "an id that the API does not write", method: "GET", path: "/api/users/01", status: 404, want: noUser},
	{name: "an id that is too large", method: "GET", path: "/api/users/9223372036854775808", status: 404,
		want: noUser},
	{name: "an id of letters", method: "HEAD", path: "/api/users/abc", status: 404},

	{name: "the list", method: "GET", path: "/api/users", status: 200, want: "[" + ada + "," + alan + "]",
		answers: []string{jsonType, noCache, "Content-Length: 169", "Link: ", "X-Total-Count: "}},
	{name: "an empty query is none", method: "GET", path: "/api/users?", status: 200,
		want: "[" + ada + "," + alan + "]"},
	{name: "HEAD of the list", method: "HEAD", path: "/api/users", status: 200,
		answers: []string{jsonType, "Content-Length: 169"}},
	{name: "an email", method: "GET", path: "/api/users?email=ada%40example.org", status: 200, want: "[" + ada + "]",
		answers: []string{jsonType, noCache, "ETag: " + adaTag, "Link: "}},
	{name: "an email that the client has", method: "GET", path: "/api/users?email=ada@example.org",
		headers: []string{`If-None-Match: ` + adaTag}, status: 304, answers: []string{"ETag: " + adaTag}},
	{name: "an email in another case", method: "GET", path: "/api/users?email=ADA@example.org", status: 200,
		want:    "[]",
		answers: []string{jsonType, noCache, "ETag: "}},
	{name: "a part of both", method: "GET", path: "/api/users?q=eXample", status: 200,
		want:    "[" + ada + "," + alan + "]",
		answers: []string{"ETag: ", "X-Total-Count: "}},
	{name: "a part of one", method: "GET", path: "/api/users?q=ALAN", status: 200, want: "[" + alan + "]"},
	{name: "the last first", method: "GET", path: "/api/users?order=desc", status: 200,
		want: "[" + alan + "," + ada + "]"},
	{name: "a page with more", method: "GET", path: "/api/users?limit=1&q=a", status: 200, want: "[" + ada + "]",
		answers: []string{`Link: <?limit=1&q=a&after=1>; rel="next"`, "ETag: " + adaTag}},
	{name: "a page that ends the list", method: "GET", path: "/api/users?limit=2", status: 200,
		want: "[" + ada + "," + alan + "]", answers: []string{"Link: "}},
	{name: "a page after a user", method: "GET", path: "/api/users?after=1&limit=1", status: 200,
		want:    "[" + alan + "]",
		answers: []string{"Link: "}},
	{name: "the next page of a descending list", method: "GET", path: "/api/users?limit=1&order=desc&after=2",
		status: 200,
		want:   "[" + ada + "]", answers: []string{"Link: "}},
	{name: "after the last", method: "GET", path: "/api/users?after=2", status: 200, want: "[]"},
	{name: "how many", method: "GET", path: "/api/users?count=true&limit=1&after=1", status: 200,
		want:    "[" + alan + "]",
		answers: []string{"X-Total-Count: 2"}},
	{name: "how many match", method: "HEAD", path: "/api/users?count=true&q=ada", status: 200,
		answers: []string{"X-Total-Count: 1", jsonType, "Content-Length: 84", "ETag: " + adaTag}},
	{name: "a misspelt parameter", method: "GET", path: "/api/users?nmae=ada", status: 400,
		answers: []string{jsonType},
		want:    `{"error":"Unknown parameter \"nmae\": a list takes email, q, limit, after, order and count"}`},
	{name: "a bad value", method: "HEAD", path: "/api/users?limit=0", status: 400, answers: []string{jsonType}},
	{name: "a parameter of a user is nothing", method: "GET", path: "/api/users/1?limit=0", status: 200, want: ada},

	{name: "a method that a user has not", method: "POST", path: "/api/users/1", status: 405,
		want: `{"error":"Method not allowed"}`, answers: []string{"Allow: GET, HEAD, PATCH, PUT, DELETE"}},
	{name: "a method that the list has not", method: "PATCH", path: "/api/users", status: 405,
		want: `{"error":"Method not allowed"}`, answers: []string{"Allow: GET, HEAD, POST"}},
	{name: "an unknown path", method: "GET", path: "/api/users/1/", status: 404, want: `{"error":"Not found"}`,
		answers: []string{jsonType, "Vary: "}},
}

var changing = []scenario{
	{name: "PATCH changes what is sent", method: "PATCH", path: "/api/users/1", body: `{"name":"B"}`, status: 200,
		want:    renamed,
		answers: []string{jsonType, `ETag: "6d35e7036dbd77cc770da6dd9b6b3c30"`}},
	{name: "PUT changes both", method: "PUT", path: "/api/users/1", body: `{"email":"ada@example.org","name":"B"}`,
		status: 200,
		want:   renamed},
	{name: "PUT needs both", method: "PUT", path: "/api/users/1", body: `{"name":"B"}`, status: 400, want: required},
	{name: "PUT never creates", method: "PUT", path: "/api/users/3", body: `{"name":"C","email":"c@d"}`, status: 404,
		want: noUser},
	{name: "an empty object changes nothing", method: "PATCH", path: "/api/users/1", body: `{}`, status: 200,
		want:    ada,
		answers: []string{"ETag: " + adaTag}},
	{name: "what was read comes back", method: "PUT", path: "/api/users/1", body: ada, status: 200, want: ada},
	{name: "a field that is null", method: "PATCH", path: "/api/users/1", body: `{"name":null}`, status: 400,
		want: required},
	{name: "a field that is empty", method: "PATCH", path: "/api/users/1", body: `{"email":""}`, status: 400,
		want: required},
	{name: "another id", method: "PATCH", path: "/api/users/1", body: `{"id":2}`, status: 400, want: fixed},
	{name: "another time", method: "PUT", path: "/api/users/1", status: 400, want: fixed,
		body: `{"name":"B","email":"b@c","created_at":"now"}`},
	{name: "an unknown key", method: "PATCH", path: "/api/users/1", body: `{"nmae":"B"}`, status: 400,
		want: `{"error":"Unknown key \"nmae\": only name and email can be changed"}`},
	{name: "an unknown key for no user", method: "PATCH", path: "/api/users/3", body: `{"nmae":"B"}`, status: 400,
		want: `{"error":"Unknown key \"nmae\": only name and email can be changed"}`},
	{name: "no JSON for an id of letters", method: "PATCH", path: "/api/users/abc", body: `x`, status: 400,
		want: `{"error":"The request body is not valid JSON: see byte 1"}`},
	{name: "an id of letters", method: "PATCH", path: "/api/users/abc", body: `{}`, status: 404, want: noUser},
	{name: "another id for no user", method: "PATCH", path: "/api/users/3", body: `{"id":2}`, status: 404, want: noUser,
		headers: []string{`If-Match: "x"`}},
	{name: "another user's email", method: "PATCH", path: "/api/users/1", body: `{"email":"alan@example.org"}`,
		status: 409,
		want:   emailUsed},
	{name: "the same with PUT", method: "PUT", path: "/api/users/1", body: `{"name":"B","email":"alan@example.org"}`,
		status: 409, want: emailUsed},
	{name: "If-Match", method: "PATCH", path: "/api/users/1", body: `{"name":"B"}`, status: 200, want: renamed,
		headers: []string{`If-Match: ` + adaTag}},
	{name: "If-Match of any", method: "PUT", path: "/api/users/1", body: `{"name":"B","email":"ada@example.org"}`,
		status: 200,
		want:   renamed, headers: []string{`If-Match: *`}},
	{name: "If-Match in a second line", method: "PATCH", path: "/api/users/1", body: `{"name":"B"}`, status: 200,
		want:    renamed,
		headers: []string{`If-Match: "x"`, `If-Match: "y", ` + adaTag}},
	{name: "If-Match of an older state", method: "PATCH", path: "/api/users/1", body: `{"name":"B"}`, status: 412,
		want:    changed,
		headers: []string{`If-Match: "x"`}, answers: []string{"ETag: " + adaTag, jsonType}},
	{name: "If-Match of a weak tag", method: "PATCH", path: "/api/users/1", body: `{"name":"B"}`, status: 412,
		want:    changed,
		headers: []string{`If-Match: W/` + adaTag}},
	{name: "another id and an older state", method: "PATCH", path: "/api/users/1", body: `{"id":2}`, status: 400,
		want:    fixed,
		headers: []string{`If-Match: "x"`}, answers: []string{"ETag: "}},
	{name: "another's email and an older state", method: "PATCH", path: "/api/users/1",
		body:   `{"email":"alan@example.org"}`,
		status: 412, want: changed, headers: []string{`If-Match: "x"`}},
	{name: "DELETE with If-Match", method: "DELETE", path: "/api/users/1", status: 204,
		headers: []string{`If-Match: ` + adaTag}},
	{name: "DELETE of an older state", method: "DELETE", path: "/api/users/1", status: 412, want: changed,
		headers: []string{`If-Match: "x"`}, answers: []string{"ETag: " + adaTag}},
	{name: "DELETE of any state of no user", method: "DELETE", path: "/api/users/3", status: 404, want: noUser,
		headers: []string{`If-Match: *`}, answers: []string{"ETag: "}},
	{name: "POST says what storage says", method: "POST", path: "/api/users",
		body:   `{"name":"A","email":"ada@example.org"}`,
		status: 500, want: `{"error":"constraint failed: UNIQUE constraint failed: users.email (2067)"}`, headers: []string{"Accept: */*"}},
	{name: "half a character", method: "POST", path: "/api/users", body: `{"name":"A","email":"\udc00"}`, status: 400,
		want: `{"error":"The request body has half of a character: \\ud800 to \\udfff must come in pairs"}`},
	{name: "a browser of another site", method: "PATCH", path: "/api/users/1", body: `{"name":"B"}`, status: 403,
		headers: []string{"Sec-Fetch-Site: cross-site"},
		want:    `{"error":"Requests from a browser on another site are refused"}`},
}

func TestReading(t *testing.T)  { try(t, reading) }
func TestChanging(t *testing.T) { try(t, changing) }

func try(t *testing.T, scenarios []scenario) {
	for _, tried := range scenarios {
		t.Run(tried.name, func(t *testing.T) {
			s := start(t)
			s.create(t, "Ada", "ada@example.org")
			s.create(t, "Alan", "alan@example.org")
			before := s.do(t, "GET", "/api/users", "").body
			got := s.do(t, tried.method, tried.path, tried.body, tried.headers...)
			if got.status != tried.status || got.body != tried.want {
				t.Errorf("answered %d %s\nwant %d %s", got.status, got.body, tried.status, tried.want)
			}
			for _, line := range tried.answers {
				name, value, _ := strings.Cut(line, ": ")
				if got := strings.Join(got.header.Values(name), "|"); got != value {
					t.Errorf("the header %s is %q, want %q", name, got, value)
				}
			}
			after := s.do(t, "GET", "/api/users", "").body
			if wrote := got.status < 300 && (got.body == renamed || tried.method == "DELETE"); wrote == (before == after) {
				t.Errorf("the users were %s and are %s", before, after)
			}
		})
	}
}

// problems are requests to a service that has Ada, 1, and Alan, 2, and how each is refused.
var problems = []struct {
	name, method, path, body string
	headers                  []string
	status                   int
	title, detail, code      string
}{
	{"a bad request", "POST", "/api/users", "{}", nil, 400, "Bad Request", "Name and email are required", "field_missing"},
	{"another site", "POST", "/api/users", "{}", []string{"Sec-Fetch-Site: cross-site"}, 403, "Forbidden",
		"Requests from a browser on another site are refused", "cross_site"},
	{"no user", "DELETE", "/api/users/3", "", nil, 404, "Not Found", "User not found", "user_not_found"},
	{"an unknown path", "GET", "/nothing", "", nil, 404, "Not Found", "Not found", "path_not_found"},
	{"another method", "PUT", "/health", "", nil, 405, "Method Not Allowed", "Method not allowed",
		"method_not_allowed"},
	{"a duplicate", "POST", "/api/users", `{"name":"A","email":"ada@example.org"}`, nil, 409, "Conflict",
		"Email is already used by another user", "email_used"},
	{"another state", "DELETE", "/api/users/1", "", []string{`If-Match: "x"`}, 412, "Precondition Failed",
		"The user was changed since you read it", "changed_meanwhile"},
	{"a large body", "POST", "/api/users", `{"name":"` + strings.Repeat("a", 1<<20) + `"}`, nil, 413,
		"Request Entity Too Large",
		"The request body is larger than 1 MiB", "body_too_large"},
}

func TestErrorsAreProblemsForWhoAsks(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.create(t, "Ada", "ada@example.org")
	s.create(t, "Alan", "alan@example.org")
	for _, tried := range problems {
		t.Run(tried.name, func(t *testing.T) {
			headers := append(tried.headers, "Accept: application/json, application/problem+json;q=0.5")
			got := s.do(t, tried.method, tried.path, tried.body, headers...)
			want := fmt.Sprintf(`{"type":"about:blank","title":%q,"status":%d,"detail":%q,"code":%q}`,
				tried.title, tried.status, tried.detail, tried.code)
			if got.status != tried.status || got.body != want {
				t.Errorf("answered %d %s\nwant %s", got.status, got.body, want)
			}
			if got.header.Get("Content-Type") != "application/problem+json" || got.header.Get("Vary") != "Accept" {
				t.Errorf("the headers are %v", got.header)
			}
		})
	}
}
