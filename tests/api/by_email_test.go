package api

import (
	"fmt"
	"net/url"
	"sync"
	"testing"

	"users-api/tests/program"
)

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
	{"only to create is nothing to a change", "PATCH" + byEmail + onlyNew, named, 200, renamed},
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
		if !program.Matches(p.Log(), "…"+line+"…") {
			t.Errorf("no line of the log has %s", line)
		}
	}
}

func TestAnEmailInAPathFollowsTheIndexThatIgnoresCase(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada", "Ada@example.org")
	p.Run(t, "ignore-email-case").MustSucceed(t)
	const upper = "/api/users/ADA@EXAMPLE.ORG"
	program.WaitFor(t, "the service follows the index", func() bool { return p.Do(t, "GET", upper, "").Status == 200 })
	for _, s := range []scenario{
		{"a replacement leaves the letters of the email", "PUT " + upper, named, 200, `{"id":1,"name":"B","email":"Ada@example.org",…`},
		{"a replacement may give it others", "PUT " + upper, `{"name":"B","email":"ada@example.org"}`, 200, `{…"email":"ada@example.org",…`},
		{"a change finds it", "PATCH " + upper, `{"name":"C"}`, 200, `{"id":1,"name":"C",…`},
		{"only to create finds it", "PUT " + upper + onlyNew, named, 412, exists},
		{"a creation has the letters of its body", "PUT /api/users/b@b", `{"name":"B","email":"B@b"}`, 201, `{"id":2,"name":"B","email":"B@b",…`},
		{"a creation has no other email", "PUT /api/users/c@b", both, 400, otherEmail},
		{"only ASCII letters count", "GET /api/users/ADA@EXAMPLE.%C3%96RG", "", 404, noUser},
		{"a deletion finds it", "DELETE " + upper, "", 204, ""},
	} {
		t.Run(s.name, func(t *testing.T) { s.ask(t, p).Expect(t, s.status, s.answer) })
	}
	p.ExpectUsers(t, "B")
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
	users := map[string]int{}
	for _, user := range p.List(t) {
		users[user.Email]++
	}
	program.Expect(t, "how many users there are", len(users), 2*program.Times(20, 200))
	program.Expect(t, "how many entries the list has", len(p.List(t)), len(users))
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

// A batch carries out what names a user by email in order with all others for users.
func TestABatchNamesUsersByEmail(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	answers := sendBatch(t, p, []string{
		item("PUT /api/users/a@b", `{"name":"A"}`), item("PATCH /api/users/1", `{"name":"B"}`), item("PUT /api/users/a%40b"+onlyNew, named),
		item("GET /api/users/a@b", ""), item("DELETE /api/users/a@b", ""), item("GET /api/users/1", ""),
	})
	for i, status := range []int{201, 200, 412, 200, 204, 404} {
		answers[i].Expect(t, status, "…")
	}
	program.ExpectHeader(t, answers[0], "Location", "1")
	program.Expect(t, "the user before the deletion", answers[3].Body, answers[1].Body)
}
