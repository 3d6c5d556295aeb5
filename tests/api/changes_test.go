package api

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
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
	for _, other := range []string{"w/" + now, strings.Trim(now, `"`), `"x"`, "", `"a,*,b"`, `"x", *`, `"a,` + now + `,b"`, `"*`, `*"`, `"*,`, `"x, *`,
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
	{"parameters are ignored", "GET" + byEmail + "?limit=1", "", 200, ada},
	{"a user is changed by email", "PATCH" + byEmail, named, 200, renamed},
	{"an empty change by email changes nothing", "PATCH" + byEmail, `{}`, 200, ada},
	{"a change by email gives another email", "PATCH" + byEmail, both, 200, nowBoth},
	{"a replacement by email needs no email", "PUT" + byEmail, named, 200, renamed},
	{"a replacement by email may repeat it", "PUT" + byEmail, `{"name":"B","email":"ada@example.org"}`, 200, renamed},
	{"a replacement by email gives another email", "PUT" + byEmail, both, 200, nowBoth},
	{"a replacement by email may have the user's own id", "PUT" + byEmail, `{"id":1,"name":"B"}`, 200, renamed},
	{"a user is deleted by email", "DELETE" + byEmail, "", 204, ""},

	// Nobody has the email.
	{"nobody is read by email", "GET" + nobodys, "", 404, noUser},
	{"nobody is changed by email", "PATCH" + nobodys, named, 404, noUser},
	{"nobody is deleted by email", "DELETE" + nobodys, "", 404, noUser},
	{"letter case makes another email in a path", "GET /api/users/Ada@example.org", "", 404, noUser},
	{"a user is created by email", "PUT" + nobodys, named, 201, third},
	{"a creation by email may repeat it", "PUT" + nobodys, both, 201, third},
	{"a plus stays", "PUT /api/users/b+c@b", named, 201, `{"id":3,"name":"B","email":"b+c@b","created_at":"…"}`},
	{"what is encoded is decoded once", "PUT /api/users/%25%32%35%3F%20@b", named, 201,
		`{"id":3,"name":"B","email":"%25? @b","created_at":"…"}`},
	{"letters beyond ASCII come as UTF-8", "PUT /api/users/%C3%A9@b", named, 201, `{"id":3,"name":"B","email":"é@b","created_at":"…"}`},
	{"an @ is enough", "PUT /api/users/@", named, 201, `{"id":3,"name":"B","email":"@","created_at":"…"}`},
	{"a creation by email has the last of equal keys", "PUT" + nobodys, `{"name":"A","name":"B"}`, 201, third},

	// What is refused.
	{"without an @ it is an id", "PUT /api/users/ada", both, 404, noUser},
	{"an email with a slash is another path", "GET /api/users/a%2Fb@b", "", 404, noPath},
	{"a path with a slash at its end is another", "PUT" + nobodys + "/", named, 404, noPath},
	{"what is no UTF-8 creates nobody", "PUT /api/users/%FF@b", named, 400, `{"error":"The email in the path is not UTF-8 text"}`},
	{"what is no UTF-8 is nobody's", "GET /api/users/%FF@b", "", 404, noUser},
	{"a creation by email needs a name", "PUT" + nobodys, `{}`, 400, required},
	{"a creation by email refuses a null name", "PUT" + nobodys, `{"name":null}`, 400, required},
	{"a creation by email refuses a null email", "PUT" + nobodys, `{"name":"B","email":null}`, 400, required},
	{"a replacement by email needs a name", "PUT" + byEmail, `{"email":"b@b"}`, 400, required},
	{"a replacement by email refuses an empty email", "PUT" + byEmail, `{"name":"B","email":""}`, 400, required},
	{"a creation by email has no other email", "PUT" + nobodys, `{"name":"B","email":"c@b"}`, 400, otherEmail},
	{"a creation by email has no email in other letters", "PUT" + nobodys, `{"name":"B","email":"B@b"}`, 400, otherEmail},
	{"a creation by email has nobody's email", "PUT" + nobodys, `{"name":"B","email":"ada@example.org"}`, 400, otherEmail},
	{"a creation by email has no id", "PUT" + nobodys, `{"name":"B","id":3}`, 400, fixed},
	{"a creation by email has no id of 0", "PUT" + nobodys, `{"name":"B","id":0}`, 400, fixed},
	{"a creation by email has no time", "PUT" + nobodys, `{"name":"B","created_at":""}`, 400, fixed},
	{"a replacement by email has no other id", "PUT" + byEmail, `{"name":"B","id":2}`, 400, fixed},
	{"a creation by email names an unknown key", "PUT" + nobodys, `{"nmae":"B"}`, 400, `{"error":"Unknown key \"nmae\"…`},
	{"a replacement by email may not take another's", "PUT" + byEmail, `{"name":"B","email":"alan@example.org"}`, 409, emailUsed},
	{"a change by email may not take another's", "PATCH" + byEmail, `{"email":"alan@example.org"}`, 409, emailUsed},
	{"another site's browser cannot create by email", "PUT" + nobodys + "\nOrigin: https://evil.example", named, 403, crossed},

	// Preconditions.
	{"only to create creates", "PUT" + nobodys + onlyNew, named, 201, third},
	{"only to create replaces nobody", "PUT" + byEmail + onlyNew, named, 412, exists},
	{"only to create replaces nobody by id", "PUT /api/users/1" + onlyNew, both, 412, exists},
	{"only to create creates nobody by id", "PUT /api/users/3" + onlyNew, both, 404, noUser},
	{"only to create changes nobody", "PATCH" + byEmail + onlyNew, named, 412, exists},
	{"only to create deletes nobody", "DELETE" + byEmail + onlyNew, "", 412, exists},
	{"a tag that may not match is nothing to a replacement", "PUT" + byEmail + "\nIf-None-Match: \"x\"", named, 200, renamed},
	{"only to replace replaces", "PUT" + byEmail + "\nIf-Match: *", named, 200, renamed},
	{"only to replace creates nobody", "PUT" + nobodys + "\nIf-Match: *", named, 412, nobody},
	{"only to replace comes before the id", "PUT" + nobodys + "\nIf-Match: \"x\"", `{"name":"B","id":3}`, 412, nobody},
	{"only to replace comes before the email", "PUT" + nobodys + "\nIf-Match: \"x\"", `{"name":"B","email":"c@b"}`, 412, nobody},
	{"neither to create nor to replace does nothing", "PUT" + byEmail + "\nIf-Match: *" + onlyNew, named, 412, exists},
	{"another entity tag refuses a replacement by email", "PUT" + byEmail + "\nIf-Match: \"x\"", named, 412, changed},
	{"another entity tag refuses a change by email", "PATCH" + byEmail + "\nIf-Match: \"x\"", named, 412, changed},
	{"another entity tag refuses a deletion by email", "DELETE" + byEmail + "\nIf-Match: \"x\"", "", 412, changed},
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
	path := "/api/users/ada+%25@example.org"
	var tag string
	for _, status := range []int{201, 200} {
		put := p.Do(t, "PUT", path, `{"name":"Ada <é>","room":"7"}`)
		get := p.Do(t, "GET", path, "")
		put.Expect(t, status, get.Body)
		get.Expect(t, 200, `{"id":1,"name":"Ada <é>","email":"ada+%@example.org","created_at":"…","room":"7","desk":null}`)
		p.Do(t, "GET", "/api/users/1", "").Expect(t, 200, get.Body)
		p.Do(t, "HEAD", path, "").Expect(t, 200, "")
		tag = get.Header.Get("ETag")
		program.ExpectHeader(t, put, "ETag", tag)
		program.ExpectHeader(t, put, "Content-Type", "application/json; charset=utf-8")
		at, err := url.Parse(path)
		program.Must(t, err)
		if at, err = at.Parse(put.Header.Get("Location")); status == 201 && (err != nil || at.Path != "/api/users/1") {
			t.Errorf("it is at %s, %v", at, err)
		}
	}
	p.Do(t, "GET", path, "", "If-None-Match: "+tag).Expect(t, 304, "")
	program.ExpectHeader(t, p.Do(t, "PUT", path, named, onlyNew[1:]), "ETag", tag)
	p.Do(t, "PUT", path, `{"name":"B","desk":"8"}`, "If-Match: "+tag).Expect(t, 200, "…"+`"room":null,"desk":"8"}`)
	p.Do(t, "DELETE", path, "", "If-Match: "+tag).Expect(t, 412, changed)
	p.Do(t, "DELETE", path, "").Expect(t, 204, "")
	p.ExpectUsers(t)
	p.Stop(t)
	program.Forbid(t, p.Log(), "Ada", "example.org", "@")
	for _, line := range []string{"method=PUT…status=201…user=1", "method=PUT…status=200…user=1", "method=DELETE…status=204…user=1"} {
		program.Expect(t, "the log", p.Log(), "…"+line+"…")
	}
}

func TestAnEmailThatSeveralUsersHaveNamesNobody(t *testing.T) {
	t.Parallel()
	p, other := program.ServeFile(t, "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT, created_at "+timeType+")")
	other.Do("INSERT INTO users (id, name, email) VALUES (1, 'Ada', 'a@b'), (2, 'Alan', 'a@b'), (3, 'Grace', 'grace@b')")
	const several = "Several users have this email: use the id of the one that you mean"
	before := p.Do(t, "GET", "/api/users", "").Body
	for _, s := range []scenario{
		{"it is not read", "GET /api/users/a@b", "", 409, several},
		{"it is not changed", "PATCH /api/users/a@b", named, 409, several},
		{"it is not replaced", "PUT /api/users/a@b", named, 409, several},
		{"it is not created", "PUT /api/users/a@b" + onlyNew, named, 409, several},
		{"it is not deleted", "DELETE /api/users/a@b", "", 409, several},
		{"entity tags are compared with nobody's", "DELETE /api/users/a@b\nIf-Match: \"x\"", "", 409, several},
	} {
		t.Run(s.name, func(t *testing.T) {
			s.ask(t, p).Expect(t, s.status, program.ErrorBody(s.answer))
			s.request += "\nAccept: application/problem+json"
			s.ask(t, p).Expect(t, s.status, `{…"detail":"`+several+`","code":"email_not_unique"}`)
			p.Do(t, "GET", "/api/users", "").Expect(t, 200, before)
		})
	}
	for _, conflict := range []string{"skip", "update"} {
		p.Do(t, "POST", program.CSV+"?on_conflict="+conflict, "name,email\nn,a@b\n").Expect(t, 500, "…need a users table with a unique index on email alone…")
	}
	p.Do(t, "PUT", "/api/users/grace@b", named).Expect(t, 200, `{"id":3,"name":"B",…`)
	p.Do(t, "DELETE", "/api/users/grace@b", "").Expect(t, 204, "")
	p.Do(t, "DELETE", "/api/users/2", "").Expect(t, 204, "")
	p.Do(t, "GET", "/api/users/a@b", "").Expect(t, 200, `{"id":1,…`)
}

// On PostgreSQL, several may see that nobody has the email, and all but one of them are refused and begin again.
func TestPutsAtOnceCreateOneUser(t *testing.T) {
	t.Parallel()
	const clients = 16
	p := program.Serve(t)
	for name, c := range map[string]struct {
		header []string
		others int // the status of all but one
	}{
		"creates or replaces": {nil, 200},
		"only creates":        {[]string{onlyNew[1:]}, 412},
	} {
		t.Run(name, func(t *testing.T) {
			for round := range program.Times(20, 200) {
				email := fmt.Sprintf("%s%d@b", url.PathEscape(name), round)
				var wait sync.WaitGroup
				answers := make([]program.Answer, clients)
				for i := range clients {
					wait.Go(func() {
						var err error
						answers[i], err = p.Send("PUT", "/api/users/"+email, named, c.header...)
						if err != nil {
							t.Error(err)
						}
					})
				}
				wait.Wait()
				found := map[int]int{}
				for _, answer := range answers {
					found[answer.Status]++
				}
				program.Expect(t, "how many have each status", found, map[int]int{201: 1, c.others: clients - 1})
			}
		})
	}
	program.Expect(t, "how many users there are", len(p.List(t)), 2*program.Times(20, 200))
}

// While others delete the user, a put creates or replaces: nobody sees what the two do to each other.
func TestPutsAndDeletionsAtOnceAllSucceed(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	const path = "/api/users/a@b"
	var wait sync.WaitGroup
	var lock sync.Mutex
	found := map[string]int{}
	for i := range 8 {
		method := []string{"PUT", "DELETE"}[i%2]
		wait.Go(func() {
			for range program.Times(50, 500) {
				answer, err := p.Send(method, path, named)
				if err != nil {
					t.Error(err)
				}
				lock.Lock()
				found[fmt.Sprint(method, answer.Status)]++
				lock.Unlock()
			}
		})
	}
	wait.Wait()
	all := 4 * program.Times(50, 500)
	program.Expect(t, fmt.Sprint("puts that succeed, of ", found), found["PUT201"]+found["PUT200"], all)
	program.Expect(t, fmt.Sprint("deletions that are answered, of ", found), found["DELETE204"]+found["DELETE404"], all)
	program.Expect(t, "users who are left", found["PUT201"]-found["DELETE204"], len(p.List(t)))
}
