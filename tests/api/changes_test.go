package api

import (
	"fmt"
	"net/http"
	"slices"
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
	{"an email is changed", patch, `{"email":"b@b"}`, 200, `{"id":1,"name":"Ada","email":"b@b","created_at":"…"}`},
	{"both are replaced", put, both, 200, nowBoth},
	{"a replacement refuses null", put, `{"name":"B","email":null}`, 400, required},
	{"what a user has already is no change", put, `{"name":"Ada","email":"ada@example.org"}`, 200, ada},
	nulChanged,
	{"letter case makes another email", patch, `{"email":"Alan@example.org"}`, 200, `{"id":1,…"Alan@example.org"…`},

	// Name and email are required.
	{"a null name is refused", patch, `{"name":null}`, 400, required},
	{"an empty email is refused", patch, `{"name":"B","email":""}`, 400, required},
	{"a replacement needs an email", put, `{"name":"B"}`, 400, required},

	// The id and the time stay.
	{"its own id may be sent back", patch, `{"id":1,"name":"B"}`, 200, `{"id":1,"name":"B","email":"ada@example.org",…`},
	{"another id is refused", patch, `{"id":2,"name":"B"}`, 400, fixed},
	{"another time is refused", patch, `{"created_at":"1999-01-01 00:00:00"}`, 400, fixed},

	// Nothing else can be changed.
	{"a misspelt key is named", patch, `{"nmae":"B"}`, 400,
		`{"error":"Unknown key \"nmae\": only name…email…can be changed"}`},

	// Other users.
	{"another user's email is a conflict", patch, `{"email":"alan@example.org"}`, 409, emailUsed},
	{"a user that does not exist is not changed", "PATCH /api/users/3", both, 404, noUser},
	{"a user that does not exist is neither replaced nor created", "PUT /api/users/3", both, 404, noUser},
	{"a missing user is found before entity tags are compared", "PATCH /api/users/3\nIf-Match: \"x\"", both, 404, noUser},
	{"a bad body is found before a missing user", "PATCH /api/users/3", `{"name":5}`, 400, `{"error":"The field name …"}`},

	// If-Match.
	{"another entity tag refuses a change", patch + "\nIf-Match: \"x\"", both, 412, changed},
	{"a star without the user's tag deletes", "DELETE /api/users/1\nIf-Match: *", "", 204, ""},
}

func TestChanges(t *testing.T) {
	t.Parallel()
	try(t, changes, "ada@example.org", "alan@example.org")
}

func TestAChangeKeepsTheTimeAndColumnsThatAreNotServed(t *testing.T) {
	t.Parallel()
	p, other := program.ServeFile(t, "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT UNIQUE, fax TEXT, created_at "+timeType+")")
	other.Do("INSERT INTO users (id, name, email, fax, created_at) VALUES (7, 'Ada', 'a', 'fax', '2024-01-02T03:04:05Z')")
	p.Change(t, 7, `{"email":"e"}`)
	p.Do(t, "GET", "/api/users/7", "").Expect(t, 200, `{"id":7,"name":"Ada","email":"e","created_at":"2024-01-02 03:04:05"}`)
	program.Expect(t, "the other column", other.Ask("SELECT fax FROM users"), "fax")
}

func TestAnEntityTagAllowsOneChange(t *testing.T) {
	t.Parallel()
	p := readable(t)
	writes := []string{"PATCH /api/users/1", "PUT /api/users/1", "DELETE /api/users/1"}
	for i, lines := range []string{`%s`, `"x", %s`, "\"x\" ,\t%s", `"a,b", %s`, "\"x\"\nIf-Match: \"y\",%s"} { // two lines are one
		header := "\nIf-Match: " + fmt.Sprintf(lines, program.ETag(t, p, 1))
		p.Ask(t, writes[0]+header, fmt.Sprintf(`{"name":"Ada %d"}`, i)).To(header).Expect(t, 200, "…")
		for _, write := range writes {
			expectStale(t, p.Ask(t, write+header, both), program.ETag(t, p, 1), changed)
		}
	}
	now := program.ETag(t, p, 1)
	for _, other := range []string{"w/" + now, strings.Trim(now, `"`), `"x"`, "", `"a,*,b"`, `"x", *`, `"a,` + now + `,b"`, `"*`,
		`"x` + now, now[:len(now)-1] + `x"`} {
		expectStale(t, p.Ask(t, patch, both, "If-Match: "+other), now, changed)
	}
	rewritten := program.ErrorBody("The user is as you read it, but a proxy that compresses has rewritten its ETag: send If-Match: " +
		now + ", and let the proxy leave JSON uncompressed")
	for _, end := range []string{`"`, `-gzip"`, `-br"`, `-zstd"`} {
		for _, write := range writes {
			expectStale(t, p.Ask(t, write, both, `If-Match: "x", W/`+now[:len(now)-1]+end), now, rewritten)
		}
	}
	expectStale(t, p.Ask(t, patch, both, "If-Match: "+now[:len(now)-1]+`-gzip"`), now, rewritten)
	program.OpenOther(t, p.DatabasePath()).Do("UPDATE users SET name = 'Countess' WHERE id = 1")
	expectStale(t, p.Ask(t, patch, both, "If-Match: "+now), program.ETag(t, p, 1), changed)
	p.Do(t, "DELETE", "/api/users/1", "", "If-Match: "+program.ETag(t, p, 1)).Expect(t, 204, "")
}

// expectStale expects a 412 with the current tag, which says why.
func expectStale(t *testing.T, answer program.Answer, current, says string) {
	t.Helper()
	answer.Expect(t, http.StatusPreconditionFailed, says)
	program.ExpectHeader(t, answer, "ETag", current)
}

// A path of one user may have an email instead of its id.

const (
	byEmail    = " /api/users/ada@example.org"
	nobodys    = " /api/users/b@b"
	named      = `{"name":"B"}`
	renamed    = `{"id":1,"name":"B","email":"ada@example.org","created_at":"…"}`
	third      = `{"id":3,"name":"B","email":"b@b","created_at":"…"}`
	exists     = `{"error":"The user exists already, and If-None-Match: * only creates one"}`
	nobody     = `{"error":"No user has this email, and If-Match only replaces one"}`
	otherEmail = `{"error":"No user has the email in the path, so the email in the body must be the same"}`
	onlyNew    = "\nIf-None-Match: *"
)

// Each is a request to a program that has the users 1, ada@example.org, and 2, alan@example.org.
var byEmails = []scenario{
	// Somebody has the email.
	{"a user is read by email", "GET" + byEmail, "", 200, ada},
	{"an @ may be encoded", "GET /api/users/ada%40example.org", "", 200, ada},
	{"a user is changed by email", "PATCH" + byEmail, named, 200, renamed},
	{"a replacement by email needs no email", "PUT" + byEmail, named, 200, renamed},
	{"a replacement by email gives another email", "PUT" + byEmail, both, 200, nowBoth},
	{"a user is deleted by email", "DELETE" + byEmail, "", 204, ""},

	// Nobody has the email.
	{"nobody is read by email", "GET" + nobodys, "", 404, noUser},
	{"nobody is changed by email", "PATCH" + nobodys, named, 404, noUser},
	{"a user is created by email", "PUT" + nobodys, named, 201, third},
	{"what is encoded is decoded once", "PUT /api/users/%25%32%35%3F%20@b", named, 201,
		`{"id":3,"name":"B","email":"%25? @b","created_at":"…"}`},

	// What is refused.
	{"without an @ it is an id", "PUT /api/users/ada", both, 404, noUser},
	{"an email with a slash is another path", "GET /api/users/a%2Fb@b", "", 404, noPath},
	{"what is no UTF-8 creates nobody", "PUT /api/users/%FF@b", named, 400, `{"error":"The email in the path is not UTF-8 text"}`},
	{"a creation by email needs a name", "PUT" + nobodys, `{}`, 400, required},
	{"a creation by email has no other email", "PUT" + nobodys, `{"name":"B","email":"c@b"}`, 400, otherEmail},
	{"a creation by email has no id", "PUT" + nobodys, `{"name":"B","id":3}`, 400, fixed},
	{"a creation by email names an unknown key", "PUT" + nobodys, `{"nmae":"B"}`, 400, `{"error":"Unknown key \"nmae\"…`},
	{"a change by email may not take another's", "PATCH" + byEmail, `{"email":"alan@example.org"}`, 409, emailUsed},

	// Preconditions.
	{"only to create creates", "PUT" + nobodys + onlyNew, named, 201, third},
	{"only to create replaces nobody", "PUT" + byEmail + onlyNew, named, 412, exists},
	{"only to create replaces nobody by id", "PUT /api/users/1" + onlyNew, both, 412, exists},
	{"only to replace replaces", "PUT" + byEmail + "\nIf-Match: *", named, 200, renamed},
	{"only to replace creates nobody", "PUT" + nobodys + "\nIf-Match: *", named, 412, nobody},
	{"only to replace comes before the id", "PUT" + nobodys + "\nIf-Match: \"x\"", `{"name":"B","id":3}`, 412, nobody},
	{"another entity tag refuses a replacement by email", "PUT" + byEmail + "\nIf-Match: \"x\"", named, 412, changed},
	{"a missing email is found before entity tags are compared", "DELETE" + nobodys + "\nIf-Match: \"x\"", "", 404, noUser},
}

func TestUsersByEmail(t *testing.T) {
	t.Parallel()
	try(t, byEmails, "ada@example.org", "alan@example.org")
}

// What is put twice is created and replaced, and answered as GET shows it, at the place that the answer names.
func TestAUserIsPutByEmail(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "USER_FIELDS=room,desk")
	const path = "/api/users/ada+%25@example.org"
	var tag string
	for _, status := range []int{201, 200} {
		put := p.Do(t, "PUT", path, `{"name":"Ada <é>","room":"7"}`)
		get := p.Do(t, "GET", path, "")
		put.Expect(t, status, get.Body)
		get.Expect(t, 200, `{"id":1,"name":"Ada <é>","email":"ada+%@example.org","created_at":"…","room":"7","desk":null}`)
		tag = get.Header.Get("ETag")
		program.ExpectHeader(t, put, "ETag", tag)
		program.ExpectHeader(t, put, "Location", map[int]string{201: "1"}[status]) // beside the email in the path
	}
	p.Do(t, "GET", path, "", "If-None-Match: "+tag).Expect(t, 304, "")
	program.ExpectHeader(t, p.Do(t, "PUT", path, named, onlyNew[1:]), "ETag", tag)
	p.Do(t, "PUT", path, `{"name":"B","desk":"8"}`, "If-Match: "+tag).Expect(t, 200, "…"+`"room":null,"desk":"8"}`)
	p.Do(t, "DELETE", path, "", "If-Match: "+tag).Expect(t, 412, changed)
	p.Do(t, "DELETE", path, "").Expect(t, 204, "")
	p.Stop(t)
	program.Forbid(t, p.Log(), "Ada", "example.org", "@")
	program.Expect(t, "the log", p.Log(), "…method=PUT…status=201…user=1…method=PUT…status=200…user=1…method=DELETE…status=204…user=1…")
}

func TestAnEmailThatSeveralUsersHaveNamesNobody(t *testing.T) {
	t.Parallel()
	p, other := program.ServeFile(t, "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT, created_at "+timeType+")")
	other.Do("INSERT INTO users (id, name, email) VALUES (1, 'Ada', 'a@b'), (2, 'Alan', 'a@b'), (3, 'Grace', 'grace@b')")
	const several = "Several users have this email: use the id of the one that you mean"
	before := p.Do(t, "GET", "/api/users", "").Body
	for _, request := range []string{"GET /api/users/a@b", "PATCH /api/users/a@b", "PUT /api/users/a@b", "PUT /api/users/a@b" + onlyNew,
		"DELETE /api/users/a@b", "DELETE /api/users/a@b\nIf-Match: \"x\""} {
		p.Ask(t, request, named).Expect(t, 409, program.ErrorBody(several))
		p.Ask(t, request, named, "Accept: "+problemType).Expect(t, 409, `{…"detail":"`+several+`","code":"email_not_unique"}`)
	}
	p.Do(t, "POST", program.CSV+"?on_conflict=skip", "name,email\nn,a@b\n").Expect(t, 500, "…need a users table with a unique index on email alone…")
	p.Do(t, "GET", "/api/users", "").Expect(t, 200, before)
	p.Do(t, "PUT", "/api/users/grace@b", named).Expect(t, 200, `{"id":3,"name":"B",…`)
	p.Do(t, "DELETE", "/api/users/2", "").Expect(t, 204, "")
	p.Do(t, "GET", "/api/users/a@b", "").Expect(t, 200, `{"id":1,…`)
}

// atOnce sends requests to some programs at once, and returns how many were answered how.
func atOnce(t *testing.T, programs []*program.Program, requests []string, body string) map[string]int {
	t.Helper()
	var answers []<-chan program.Answer
	for i, request := range requests {
		answers = append(answers, programs[i%len(programs)].Begin(t, request, body))
	}
	found := map[string]int{}
	for i, answer := range answers {
		method, _, _ := strings.Cut(requests[i], " ")
		found[fmt.Sprint(method, " ", (<-answer).Status)]++
	}
	return found
}

// On PostgreSQL, several may see that nobody has the email, and all but one of them are refused and begin again. While others
// delete the user, a put creates or replaces: nobody sees what the two do to each other.
func TestPutsAtOnceCreateOneUser(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	atOnce := func(requests ...string) map[string]int { return atOnce(t, []*program.Program{p}, requests, named) }
	for round := range program.Times(20, 200) {
		put := fmt.Sprintf("PUT /api/users/%d@b", round)
		program.Expect(t, "who creates or replaces", atOnce(slices.Repeat([]string{put}, 16)...), map[string]int{"PUT 201": 1, "PUT 200": 15})
		put = fmt.Sprintf("PUT /api/users/new%d@b", round)
		program.Expect(t, "who only creates", atOnce(slices.Repeat([]string{put + onlyNew}, 16)...), map[string]int{"PUT 201": 1, "PUT 412": 15})
		found := atOnce(slices.Repeat([]string{put, strings.Replace(put, "PUT", "DELETE", 1)}, 8)...)
		program.Expect(t, fmt.Sprint("puts that succeed, of ", found), found["PUT 201"]+found["PUT 200"], 8)
		program.Expect(t, fmt.Sprint("deletions that are answered, of ", found), found["DELETE 204"]+found["DELETE 404"], 8)
		there := 1 + found["PUT 201"] - found["DELETE 204"]
		program.Expect(t, "how many have the email", len(p.Do(t, "GET", fmt.Sprintf("/api/users?email=new%d@b", round), "").Users(t)), there)
	}
}
