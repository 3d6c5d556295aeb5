package api

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"users-api/tests/program"
)

const (
	patch     = "PATCH /api/users/1"
	put       = "PUT /api/users/1"
	fixed     = `{"error":"id and created_at cannot be changed"}`
	emailUsed = `{"error":"Email is already used by another user"}`
	changed   = `{"error":"The user was changed since you read it"}`
	both      = `{"name":"B","email":"b@b"}`
	nowBoth   = `{"id":1,"name":"B","email":"b@b","created_at":"…"}`
	ada       = `{"id":1,"name":"Ada","email":"ada@example.org","created_at":"…"}`
)

// Each is a request to a program that has the users 1, ada@example.org, and 2, alan@example.org.
var changes = []scenario{
	// The fields that are sent are changed.
	{"a name is changed", patch, `{"name":"B"}`, 200, `{"id":1,"name":"B","email":"ada@example.org","created_at":"…"}`},
	{"an email is changed", patch, `{"email":"b@b"}`, 200, `{"id":1,"name":"Ada","email":"b@b","created_at":"…"}`},
	{"both are changed", patch, both, 200, nowBoth},
	{"both are replaced", put, both, 200, nowBoth},
	{"a user may keep its email", patch, `{"name":"B","email":"ada@example.org"}`, 200,
		`{"id":1,"name":"B","email":"ada@example.org","created_at":"…"}`},
	{"a replacement refuses null", put, `{"name":"B","email":null}`, 400, required},
	{"another site's browser cannot replace", put + "\nOrigin: https://evil.example", both, 403, crossed},
	{"nothing is changed", patch, `{}`, 200, ada},
	{"what a user has already is no change", put, `{"name":"Ada","email":"ada@example.org"}`, 200, ada},
	nulChanged,
	{"letter case makes another email", patch, `{"email":"Alan@example.org"}`, 200, `{"id":1,…"Alan@example.org"…`},

	// Name and email are required.
	{"a null name is refused", patch, `{"name":null}`, 400, required},
	{"an empty email is refused", patch, `{"name":"B","email":""}`, 400, required},
	{"a replacement needs a name", put, `{"email":"b@b"}`, 400, required},
	{"a replacement needs an email", put, `{"name":"B"}`, 400, required},

	// The id and the time stay.
	{"its own id may be sent back", patch, `{"id":1,"name":"B"}`, 200, `{"id":1,"name":"B","email":"ada@example.org",…`},
	{"another id is refused", patch, `{"id":2,"name":"B"}`, 400, fixed},
	{"the id as text is another", patch, `{"id":"1"}`, 400, fixed},
	{"another id is refused in a replacement", put, `{"id":2,"name":"B","email":"b@b"}`, 400, fixed},
	{"another time is refused", patch, `{"created_at":"1999-01-01 00:00:00"}`, 400, fixed},
	{"a time that is a digit is refused", patch, `{"created_at":7}`, 400, fixed},

	// Nothing else can be changed.
	{"a misspelt key is named", patch, `{"nmae":"B"}`, 400,
		`{"error":"Unknown key \"nmae\": only name…email…can be changed"}`},
	{"a key beside good ones is named", put, `{"name":"B","email":"b@b","fax":"1"}`, 400,
		`{"error":"Unknown key \"fax\": only name…email…can be changed"}`},

	// Browsers on other sites.
	{"another site's browser cannot change", patch + "\nSec-Fetch-Site: cross-site", both, 403, crossed},

	// As other programs send it.
	{"a byte order mark before a change is skipped", patch, "\ufeff" + `{"name":"Ada King"}`, 200, "…Ada King…"},
	{"a compressed change is refused", patch, gzipped(`{"name":"Ada King"}`), 400, packed},
	{"a compressed replacement is refused", put + "\nContent-Encoding: gzip", gzipped(both), 400, packed},

	// Other users.
	{"another user's email is a conflict", patch, `{"email":"alan@example.org"}`, 409, emailUsed},
	{"a user that does not exist is not changed", "PATCH /api/users/3", both, 404, noUser},
	{"a user that does not exist is neither replaced nor created", "PUT /api/users/3", both, 404, noUser},
	{"a missing user is found before ids are compared", "PATCH /api/users/3", `{"id":7}`, 404, noUser},
	{"a missing user is found before emails are compared", "PATCH /api/users/3", `{"email":"ada@example.org"}`, 404, noUser},
	{"a missing user is found before entity tags are compared", "PATCH /api/users/3\nIf-Match: \"x\"", both, 404, noUser},
	{"a bad body is found before a missing user", "PATCH /api/users/3", `{"name":5}`, 400, `{"error":"The field name …"}`},
	{"deleting a missing user is not found with an entity tag", "DELETE /api/users/3\nIf-Match: \"x\"", "", 404, noUser},

	// If-Match.
	{"another entity tag refuses a change", patch + "\nIf-Match: \"x\"", both, 412, changed},
	{"another entity tag refuses an unchanged user too", patch + "\nIf-Match: \"x\"", `{}`, 412, changed},
	{"a star without the user's tag deletes", "DELETE /api/users/1\nIf-Match: *", "", 204, ""},
}

func TestChanges(t *testing.T) {
	t.Parallel()
	try(t, changes, "ada@example.org", "alan@example.org")
}

func TestAChangeIsAnsweredWithTheUserAsGETShowsIt(t *testing.T) {
	t.Parallel()
	p := readable(t)
	for _, request := range [][2]string{
		{"PATCH", `{"created_at":"2024\u002d01-02 03:04:05"}`}, {"PATCH", `{"name":"B <é>"}`}, {"PUT", `{"name":"C","email":"c@b"}`}, {"PATCH", `{}`},
		{"PATCH", p.Do(t, "GET", "/api/users/1", "").Body}, {"PUT", p.Do(t, "GET", "/api/users/1", "").Body},
	} {
		answer := p.Do(t, request[0], "/api/users/1", request[1])
		get := p.Do(t, "GET", "/api/users/1", "")
		listed := program.RawUsers(t, p.Do(t, "GET", "/api/users", ""))["1"]
		if answer.Status != 200 || answer.Body != get.Body || answer.Body != listed {
			t.Errorf("%s is answered %d %s, and shown as %s and %s", request, answer.Status, answer.Body, get.Body, listed)
		}
		program.ExpectHeader(t, answer, "ETag", get.Header.Get("ETag"))
		program.ExpectHeader(t, answer, "Content-Type", "application/json; charset=utf-8")
	}
}

func TestANameThatAClientMadeUpIsShortened(t *testing.T) {
	t.Parallel()
	p := readable(t)
	most := strings.Repeat("é", 60)
	for name, want := range map[string]string{most: most, most + "x": most + "…"} {
		change := p.Do(t, "PATCH", "/api/users/1", `{"`+name+`":1}`)
		list := p.Do(t, "GET", "/api/users?"+url.QueryEscape(name)+"=1", "")
		if !strings.Contains(change.Body, `\"`+want+`\"`) || !strings.Contains(list.Body, `\"`+want+`\"`) {
			t.Errorf("%s is answered %s and %s", name, change.Body, list.Body)
		}
	}
}

func TestAChangeKeepsTheTimeAndWhatOtherProgramsStored(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.AnyType)
	p, other := program.ServeFile(t, "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT UNIQUE, fax, created_at)",
		"INSERT INTO users (id, name, email, fax, created_at) VALUES (7, x'416461', 42, 'fax', '2024-01-02T03:04:05.678Z')")
	p.Change(t, 7, `{"email":"e"}`)
	const row = "SELECT json_array(CAST(name AS TEXT), typeof(name), email, fax, created_at) FROM users"
	if stored := other.Ask(row); stored != `["Ada","blob","e","fax","2024-01-02T03:04:05.678Z"]` {
		t.Errorf("the table has %s", stored)
	}
}

func TestAnEntityTagAllowsOneChange(t *testing.T) {
	t.Parallel()
	p := readable(t)
	for i, header := range []string{`%s`, `"x", %s`, `%s,"y"`, "\"x\" ,\t%s", `"a,b", %s`,
		"\"x\"\nIf-Match: \"y\",%s"} { // two lines are one
		old := program.ETag(t, p, 1)
		body := fmt.Sprintf(`{"name":"Ada %d"}`, i)
		header := strings.Split("If-Match: "+fmt.Sprintf(header, old), "\n")
		first := p.Do(t, "PATCH", "/api/users/1", body, header...)
		if first.Status != 200 || first.Header.Get("ETag") == old {
			t.Fatalf("%s is answered %d %s", header, first.Status, first.Body)
		}
		expectStale(t, p.Do(t, "PUT", "/api/users/1", both, header...), first.Header.Get("ETag"))
		expectStale(t, p.Do(t, "DELETE", "/api/users/1", "", header...), first.Header.Get("ETag"))
	}
	now := program.ETag(t, p, 1)
	for _, other := range []string{"w/" + now, strings.Trim(now, `"`), `"x"`, "", `"a,*,b"`, `"x", *`, `"a,` + now + `,b"`,
		`"x` + now, now[:len(now)-1] + `x"`} {
		expectStale(t, p.Do(t, "PATCH", "/api/users/1", both, "If-Match: "+other), now)
	}
	for _, end := range []string{"", "-gzip", "-br", "-zstd"} {
		rewritten := now[:len(now)-1] + end + `"`
		for _, header := range []string{"W/" + rewritten, `"x", W/` + rewritten, rewritten}[:2+min(1, len(end))] {
			for _, request := range [][2]string{{"PATCH", both}, {"PUT", both}, {"DELETE", ""}} {
				expectRewritten(t, p.Do(t, request[0], "/api/users/1", request[1], "If-Match: "+header), now)
			}
		}
	}
	program.OpenOther(t, p.DatabasePath()).Do("UPDATE users SET name = 'Countess' WHERE id = 1")
	expectStale(t, p.Do(t, "PATCH", "/api/users/1", both, "If-Match: "+now), program.ETag(t, p, 1))
	p.Do(t, "DELETE", "/api/users/1", "", "If-Match: "+program.ETag(t, p, 1)).Expect(t, 204, "")
}

func expectStale(t *testing.T, answer program.Answer, current string) {
	t.Helper()
	answer.Expect(t, http.StatusPreconditionFailed, changed)
	program.ExpectHeader(t, answer, "ETag", current)
}

// expectRewritten expects that a client is told that a proxy has rewritten the tag of a user who has not changed.
func expectRewritten(t *testing.T, answer program.Answer, current string) {
	t.Helper()
	answer.Expect(t, http.StatusPreconditionFailed, program.ErrorBody("The user is as you read it, but a proxy that "+
		"compresses has rewritten its ETag: send If-Match: "+current+", and let the proxy leave JSON uncompressed"))
	program.ExpectHeader(t, answer, "ETag", current)
}
