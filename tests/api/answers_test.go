package api

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"users-api/tests/program"
)

// A scenario is one request, to users of which the first is 1, Ada, ada@example.org.
type scenario struct {
	name    string
	request string // method and path; header lines may follow
	body    string
	status  int
	answer  string // the whole body, where "…" stands for any text
}

const (
	required = `{"error":"Name and email are required"}`
	noUser   = `{"error":"User not found"}`
	noPath   = `{"error":"Not found"}`
	noMethod = `{"error":"Method not allowed"}`
	badByte  = `{"error":"The request body is not valid JSON: see byte `
	badJSON  = badByte + `…"}`
	notAn    = `{"error":"The request body must be a JSON object, not `
	notUTF8  = `{"error":"The request body is not UTF-8 text"}`
	packed   = `{"error":"The request body is compressed: send it uncompressed"}`
	crossed  = `{"error":"…another site…"}`
	sent     = `{"name":"A","email":"a@b"}`
	stored   = `{"id":2,"name":"A","email":"a@b"}`
	post     = "POST /api/users"
)

func gzipped(text string) string {
	var file bytes.Buffer
	out := gzip.NewWriter(&file)
	_, _ = out.Write([]byte(text)) // a buffer takes everything
	_ = out.Close()
	return file.String()
}

var scenarios = []scenario{
	// The specification's shapes.
	{"health is ok", "GET /health", "", 200, `{"status":"ok"}`},
	{"a creation echoes what was sent, with its id", post, sent, 201, stored},
	{"a deletion answers without a body", "DELETE /api/users/1", "", 204, ""},
	{"a duplicate is storage's own error", post, `{"name":"B","email":"ada@example.org"}`, 500, program.DuplicateEmail},
	{"deleting a user that does not exist is not found", "DELETE /api/users/2", "", 404, noUser},

	// Name or email missing.
	{"a missing email is refused", post, `{"name":"A"}`, 400, required},
	{"an empty name is refused", post, `{"name":"","email":"a@b"}`, 400, required},
	{"a null name is refused", post, `{"name":null,"email":"a@b"}`, 400, required},
	{"null is refused", post, `null`, 400, required},
	{"an empty body is refused", post, "", 400, required},
	{"keys in another case are other keys", post, `{"Name":"A","EMAIL":"a@b"}`, 400, required},

	// Not one JSON object.
	{"half an object is refused", post, `{"name":"A","email":"a@b"`, 400, badJSON},
	{"an empty object is refused", post, `{}`, 400, required},
	{"text that is not JSON is refused", post, `name=A&email=a@b`, 400, badByte + `2"}`},
	{"text after the object is refused", post, sent + " x", 400, badJSON},
	{"endless nesting is refused", post, strings.Repeat("[", 100_000), 400, badByte + `10001"}`},
	{"bytes that are not UTF-8 are refused", post, "{\"name\":\"\xff\",\"email\":\"a@b\"}", 400, notUTF8},
	{"a byte order mark before the object is skipped", post, "\ufeff" + sent, 201, stored},
	{"a compressed body is refused", post, gzipped(sent), 400, packed},
	{"a body that is said to be compressed is refused", post + "\nContent-Encoding: Br", sent, 400, packed},
	{"an array is refused", post, `[{"name":"A","email":"a@b"}]`, 400, notAn + `an array"}`},
	{"a number for a name is refused", post, `{"name":5,"email":"a@b"}`, 400,
		`{"error":"The field name must be a string, not a number"}`},

	// Stored as sent.
	{"white space is not trimmed", post, `{"name":" ","email":"\t"}`, 201, `{"id":2,"name":" ","email":"\t"}`},
	{"unknown keys are ignored, an id and a time too", post,
		`{"id":77,"created_at":"1999-01-01 00:00:00","admin":true,"name":"A","email":"a@b"}`, 201, stored},
	{"the last of two values counts", post, `{"name":5,"email":"x","name":"A","email":"a@b"}`, 201, stored},
	{"any content type is read as JSON", post + "\nContent-Type: application/x-www-form-urlencoded", sent, 201, stored},
	{"text is not HTML-escaped", post, `{"name":"<b>&\u00e9 \ud83d\ude00</b>","email":"\"<&>"}`, 201,
		`{"id":2,"name":"<b>&é 😀</b>","email":"\"<&>"}`},
	nulStored,

	// Characters outside the first plane are written as two escapes. One of them alone is no character.
	{"two escapes are one character", post, `{"name":"\uD83D\ude00","email":"\ud800\udc00"}`, 201,
		`{"id":2,"name":"😀","email":"𐀀"}`},
	{"SQL is text", post, `{"name":"'); DROP TABLE users; --","email":"a@b"}`, 201,
		`{"id":2,"name":"'); DROP TABLE users; --","email":"a@b"}`},
	{"a high half alone is refused", post, `{"name":"A","email":"\ud800"}`, 400, badByte + `22"}`},

	// Size.
	{"a body of 1 MiB is taken", post, `{"name":"` + strings.Repeat("a", 1<<20-25) + `","email":"a@b"}`, 201,
		`{"id":2,"name":"aaa…"}`},
	{"a body over 1 MiB is too large", post, `{"name":"` + strings.Repeat("a", 1<<20-24) + `","email":"a@b"}`, 413,
		`{"error":"The request body is larger than 1 MiB"}`},

	// Browsers on other sites.
	{"another site's browser cannot create", post + "\nSec-Fetch-Site: cross-site", sent, 403, crossed},
	{"another site's older browser cannot create", post + "\nOrigin: https://evil.example", sent, 403, crossed},
	{"another site's browser cannot delete", "DELETE /api/users/1\nSec-Fetch-Site: cross-site", "", 403, crossed},
	{"the same site's browser can create", post + "\nSec-Fetch-Site: same-origin", sent, 201, stored},

	// Paths and methods.
	{"an unknown path is not found", "GET /nothing", "", 404, noPath},
	{"a trailing slash is another path", "GET /api/users/", "", 404, noPath},
	{"a doubled slash is another path", "GET //api/users", "", 404, noPath},
	{"the list cannot be replaced", "PUT /api/users", "", 405, noMethod},
	{"OPTIONS is no exception", "OPTIONS /health", "", 405, noMethod},
	{"a batch is no user who is read", "GET " + batchPath, "", 405, noMethod},
}

// allowed are the methods that the header Allow has where another is refused.
var allowed = map[string]string{
	"PUT /api/users": "GET, HEAD, POST", "OPTIONS /health": "GET, HEAD", "GET " + batchPath: "POST",
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	try(t, scenarios, "ada@example.org")
}

// try sends the request of each scenario to a program that has users with these emails. A request that reads, and one that is
// refused, must change nothing. A refusal is asked for twice: as an error object and as a problem.
func try(t *testing.T, scenarios []scenario, emails ...string) {
	t.Helper()
	p := program.Serve(t)
	other := program.OpenOther(t, p.DatabasePath())
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			other.Empty()
			for _, email := range emails {
				p.Create(t, "Ada", email)
			}
			before := p.Do(t, http.MethodGet, "/api/users", "").Body

			method, _, _ := strings.Cut(s.request, " ")
			answer := p.Ask(t, s.request, s.body)
			answer.Expect(t, s.status, s.answer)
			program.ExpectHeader(t, answer, "X-Content-Type-Options", "nosniff")
			// Relative to the address of the request, so that it holds behind any prefix of a proxy.
			program.ExpectHeader(t, answer, "Location", map[string]string{"POST 201": "users/2", "PUT 201": "3"}[fmt.Sprint(method, " ", s.status)])
			methods := strings.Split(answer.Header.Get("Allow"), ", ")
			slices.Sort(methods)
			program.Expect(t, "the methods of Allow", strings.Join(methods, ", "), allowed[s.request])
			if answer.Body != "" {
				program.ExpectHeader(t, answer, "Content-Type", "application/json; charset=utf-8")
			}
			if s.status >= 400 {
				expectProblem(t, p.Ask(t, s.request, s.body, "Accept: "+problemType), answer)
			}
			program.Forbid(t, answer.Body, "Go ", "json:", "EOF", "models.", "database.Users", "NewUser", "unmarshal", "controllers", "sql:")

			reads := method == "GET" || method == "HEAD" || method == "OPTIONS"
			if after := p.Do(t, http.MethodGet, "/api/users", "").Body; after != before && (reads || s.status >= 400) {
				t.Errorf("the users were %.500s and are %.500s", before, after)
			}
		})
	}
	p.Stop(t) // every line is written
	program.Forbid(t, p.Log(), "ada@example.org", "Ada", "a@b", "goroutine")
}

// The log says that no byte followed the headers.
func TestHEADHasTheHeadersOfGETAndNoBody(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada", "ada@example.org")
	p.Create(t, "Alan", "alan@example.org")
	paths := []string{"/health", "/api/users", "/api/users?limit=1&count=true", "/api/users?q=a&order=desc", "/api/users/1",
		"/api/users/3", "/api/users?limit=0", "/api/changes", "/unknown"}
	for _, path := range paths {
		head, get := p.Do(t, "HEAD", path, ""), p.Do(t, "GET", path, "")
		head.Expect(t, get.Status, "")
		if path != "/health" { // is not logged
			program.Expect(t, "the line", p.Line(t, "request_id="+head.Header.Get("X-Request-Id")), "… bytes=0 …")
		}
		for _, header := range []http.Header{head.Header, get.Header} {
			header.Del("Date")
			header.Del("X-Request-Id")
			if header.Get("Changes-Cursor") != "" { // on PostgreSQL any transaction of the server moves it
				header.Set("Changes-Cursor", "C")
			}
		}
		if !reflect.DeepEqual(head.Header, get.Header) || head.Header.Get("Content-Length") == "" {
			t.Errorf("%s has for HEAD the headers\n%v\nand for GET\n%v", path, head.Header, get.Header)
		}
	}
}

// FuzzBody sends any bytes as the body of a creation. No body may cause a 500, and what is stored is what was answered:
// nothing after a refusal, and the same user after a 201.
func FuzzBody(f *testing.F) {
	for _, s := range scenarios {
		if s.request == post && len(s.body) < 1000 {
			f.Add(s.body)
		}
	}
	p := program.Serve(f)
	f.Fuzz(func(t *testing.T, body string) {
		answer, stored := p.Do(t, "POST", "/api/users", body), "[]"
		switch answer.Status {
		case 201:
			user := answer.User(t)
			if stored = "[" + strings.TrimSuffix(answer.Body, "}") + `,"created_at":"…"}]`; user.Name == "" || user.Email == "" {
				t.Errorf("%q was accepted", body)
			}
			defer p.Delete(t, user.ID)
		case 400, 413:
			program.Forbid(t, answer.Body, "json:", "EOF", "models.", "database.Users", "unmarshal")
		default:
			answer.Expect(t, nulStored.status, nulStored.answer) // what storage says to a NUL byte, where it cannot store it
		}
		p.Do(t, "GET", "/api/users", "").Expect(t, 200, stored)
	})
}

// FuzzID sends any text as the id of a user. Only the user with exactly this id is shown, changed and deleted.
func FuzzID(f *testing.F) {
	for _, id := range []string{
		"1", "-3", "9223372036854775807", "01", "+1", "1.0", "1e0", "0x1", " 1", "1;2", "1 OR 1=1", "%31", "١", "1\x00", "../1", "", "-0",
		"9223372036854775808", "@", "@\xff", "@/1",
	} {
		f.Add(id)
	}
	p := program.Serve(f)
	ids := []string{"-3", "1", "2", "9223372036854775807"}
	other := program.OpenOther(f, p.DatabasePath())
	f.Fuzz(func(t *testing.T, id string) {
		for _, existing := range ids {
			other.On(t).Do(fmt.Sprintf("INSERT INTO users (id, name, email) VALUES (%[1]s, 'n', '%[1]s') ON CONFLICT DO NOTHING", existing))
		}
		at := slices.Index(ids, id)
		for i, method := range []string{"GET", "PATCH", "PUT", "DELETE"} {
			answer := p.Do(t, method, "/api/users/"+url.PathEscape(id), program.Body("n", id), "If-Match: *")
			isPut := method == "PUT" && strings.Contains(id, "@") // nobody has it, and If-Match only replaces; or it is no text
			if at >= 0 {
				answer.Expect(t, []int{200, 200, 200, 204}[i], "…")
			} else if answer.Status != 404 && !(isPut && (answer.Status == 400 || answer.Status == 412)) {
				t.Errorf("%s of %q is answered %d %s", method, id, answer.Status, answer.Body)
			}
		}
		var left []string
		for _, user := range p.List(t) {
			left = append(left, fmt.Sprint(user.ID))
		}
		others := slices.DeleteFunc(slices.Clone(ids), func(existing string) bool { return existing == id })
		program.Expect(t, fmt.Sprintf("who is left after DELETE of %q", id), left, others)
	})
}

const problemType = "application/problem+json"

// codes are the codes of errors by how their sentences begin.
var codes = map[string]string{
	"Email is already used by another user": "email_used", "Method not allowed": "method_not_allowed",
	"Name and email are required": "field_missing", "Not found": "path_not_found", "Requests from": "cross_site",
	"The field ": "field_invalid", "The parameter ": "parameter_invalid",
	"The request body is compressed": "body_invalid",
	"The request body is larger":     "body_too_large", "The request body is not": "body_invalid",
	"The request body must be a JSON object": "body_invalid", "The user was changed": "changed_meanwhile",
	"Unknown key": "field_unknown", "Unknown parameter": "parameter_unknown", "User not found": "user_not_found",
	"An API key is needed": "key_missing", "The API key is not valid": "key_invalid", "This API key can only": "key_read_only",
	"Only a key with": "key_read_only", "This service does not": "host_refused",
	"id and created_at cannot be changed": "field_read_only", "id, created_at and": "field_read_only", "The email in the path": "field_invalid",
	"No user has the email in the path": "field_invalid", "No user has this email": "changed_meanwhile",
	"The user exists already": "changed_meanwhile", "ERROR": "storage_failed", "These changes": "cursor_gone",
	"No deletion of this user": "not_deleted", "The user exists, and": "user_exists", "badge is already used": "value_used",
}

// expectProblem compares a problem (RFC 9457) with the error object that other clients get: they must say the same.
func expectProblem(t *testing.T, answer, plain program.Answer) {
	t.Helper()
	says, status, code := strings.TrimSuffix(strings.TrimPrefix(plain.Body, `{"error":`), "}"), plain.Status, ""
	for begin, word := range codes {
		if strings.HasPrefix(says, `"`+begin) {
			code = word
		}
	}
	if program.Matches(plain.Body, program.DuplicateEmail) { // storage's own text
		says, status, code = `"Email is already used by another user"`, 409, "email_used"
	}
	answer.Expect(t, status, fmt.Sprintf(`{"type":"about:blank","title":"%s","status":%d,"detail":%s,"code":"%s"}`,
		http.StatusText(status), status, says, code))
	program.ExpectHeader(t, answer, "Content-Type", problemType)
	for _, name := range []string{"Allow", "ETag"} {
		program.ExpectHeader(t, answer, name, plain.Header.Get(name))
	}
}

func TestStoragesErrorsAreProblemsToo(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	program.OpenOther(t, p.DatabasePath()).Do("DROP TABLE users")
	for _, path := range []string{"/api/users", "/api/users/1", "/api/users?q=a"} {
		plain := p.Do(t, "GET", path, "")
		plain.Expect(t, 500, program.ErrorBody(program.NoTable))
		p.Do(t, "GET", path, "", "Accept: "+problemType).Expect(t, 500, `{…"detail":`+strings.TrimPrefix(strings.TrimSuffix(plain.Body, "}"), `{"error":`)+
			`,"code":"storage_failed"}`)
	}
}

// Other clients see no difference, and a success is never a problem.
func TestOtherClientsSeeNoProblems(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada", "ada@example.org")
	for accept, status := range map[string]int{
		"": 500, "*/*": 500, "application/*": 500, "application/json": 500, problemType + "x": 500, problemType + ";q=0": 500,
		problemType + ";q=high": 500, "application/json, " + problemType + "; Q=0.000": 500, problemType + "; charset=utf-8": 409,
		problemType + ";q=0.001": 409, problemType: 409, "application/json, " + problemType: 409, "Application/Problem+JSON": 409,
	} {
		want := map[int]string{500: program.DuplicateEmail, 409: `{"type":…"code":"email_used"}`}[status]
		p.Do(t, "POST", "/api/users", program.Body("n", "ada@example.org"), "Accept: "+accept).To(accept).Expect(t, status, want)
	}
	p.Do(t, "GET", "/api/users", "", "Accept: "+problemType).Expect(t, 200, p.Do(t, "GET", "/api/users", "").Body)
}
