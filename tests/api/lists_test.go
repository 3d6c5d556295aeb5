package api

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"users-api/tests/program"
)

func TestAUserMayContainAnyCharacter(t *testing.T) {
	t.Parallel()
	kept := program.Serve(t)
	uncached := program.Serve(t, "DATA_DIR="+kept.DataDir, "LIST_MEMORY_MIB=0")
	names := []string{`"double", 'single' and ''two''`, "one\ntwo\r\nthree\rfour\n", `\ \\ \n \u0000 \N`, `\N`, `'); DROP TABLE users; --`, "null",
		"  a  ", "<b>&amp;</b>", "Ærø Łódź 東京 🦊 \u2028 \u202e \ufeff"}
	for char := firstCharacter; char < 0x100; char++ {
		names = append(names, "before"+string(char)+"after"+strings.Repeat(string(char), 4))
	}
	var rows strings.Builder
	var want []string
	for i, name := range names {
		text, err := json.Marshal(program.User{Name: name, Email: fmt.Sprint(name, i)})
		program.Must(t, err)
		rows.Write(append(text, '\n'))
		want = append(want, fmt.Sprint(name, " ", name, i))
	}
	kept.Do(t, "POST", program.NDJSON, rows.String()).Expect(t, 200, "…")
	file := kept.Do(t, "GET", program.CSV, "").Body
	kept.Do(t, "POST", program.CSV+"?on_conflict=update", file).Expect(t, 200, `{"created":0,"updated":0,"skipped":`+fmt.Sprint(len(names))+`,…`)
	for _, p := range []*program.Program{kept, uncached} {
		for i, user := range p.List(t) {
			if user.Name+" "+user.Email != want[i] || !program.IsTime(user.CreatedAt) {
				t.Fatalf("%q is listed as %+v", want[i], user)
			}
		}
	}
}

func TestWhatHasNotChangedIsNotSentAgain(t *testing.T) {
	t.Parallel()
	p := readable(t)
	other := program.OpenOther(t, p.DatabasePath())
	paths := []string{"/api/users", "/api/users?limit=2", "/api/users?email=ada@example.org", "/api/users/1"}
	for i, path := range paths {
		first := p.Do(t, "GET", path, "")
		etag := first.Header.Get("ETag")
		if !strings.HasPrefix(etag, `"`) || first.Header.Get("Cache-Control") != "no-cache" {
			t.Fatalf("%s has the headers %v", path, first.Header)
		}
		end := func(more string) string { return etag[:len(etag)-1] + more + `"` }
		for header, status := range map[string]int{
			etag: 304, "W/" + etag: 304, `"x", ` + etag: 304, "*": 304, `"x"`: 200, strings.Trim(etag, `"`): 200,
			"": 200, `"x,` + etag[1:]: 200, `"a,*,b"`: 200, `"a,` + etag + `,b"`: 200, `"x", *`: 200,
			end("-gzip"): 304, "W/" + end("-br"): 304, `"x", ` + end("-zstd"): 304, end("x"): 200, // of proxies that compress
			"\"x\"\nIf-None-Match: \"y\"," + etag: 304, // two lines are one
		} {
			for _, method := range []string{"GET", "HEAD"} {
				answer := p.Do(t, method, path, "", strings.Split("If-None-Match: "+header, "\n")...)
				isSent := method == "GET" && status == 200
				if answer.Status != status || isSent != (answer.Body != "") || answer.Header.Get("ETag") != etag {
					t.Errorf("%s %s with If-None-Match: %s is answered %d %s with %v",
						method, path, header, answer.Status, answer.Body, answer.Header)
				}
			}
		}
		name := fmt.Sprint("Countess ", i)
		other.Do("UPDATE users SET name = '" + name + "' WHERE id = 1")
		changed := p.Do(t, "GET", path, "", "If-None-Match: "+etag)
		changed.Expect(t, 200, "…"+name+"…")
		program.Expect(t, "whether "+path+" has another ETag after a change", changed.Header.Get("ETag") != etag, true)
	}
}

// A client that finds a user in a list can change it on the condition of If-Match.
func TestAListOfOneUserHasTheETagOfTheUser(t *testing.T) {
	t.Parallel()
	p := readable(t)
	etag := program.ETag(t, p, 1)
	for _, query := range []string{"email=ada@example.org", "limit=1&id=1", "limit=1&count=true&name=Ada+Lovelace", "q=lovelace"} {
		program.ExpectHeader(t, p.Do(t, "GET", "/api/users?"+query, ""), "ETag", etag)
	}
	if page := p.Do(t, "GET", "/api/users?limit=1", ""); page.Header.Get("ETag") == etag { // which has a Link
		t.Error("a page of a list has the ETag of its user")
	}
	if another := program.ETag(t, p, 2); another == etag || another == "" {
		t.Errorf("the ETag of another user is %s", another)
	}
}

// A client keeps each header that a 304 does not repeat: a page whose Link leads to users who are gone is another.
func TestALinkToUsersWhoAreGoneIsNotKept(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	other := program.OpenOther(t, p.DatabasePath())
	for _, path := range []string{"/api/users?limit=2", "/api/users?limit=1", program.CSV + "?limit=2", program.NDJSON + "?limit=1"} {
		other.Empty()
		other.Fill(3)
		page := p.Do(t, "GET", path, "")
		other.Do("DELETE FROM users WHERE id > 1 AND id <> " + path[len(path)-1:])
		again := p.Do(t, "GET", path, "", "If-None-Match: "+page.Header.Get("ETag"))
		again.Expect(t, 200, page.Body)
		program.ExpectHeader(t, again, "Link", "")
	}
}

// Every reference is relative, so that a proxy may put a prefix before each path.
func TestBehindAPathPrefixEveryReferenceLeadsBack(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	proxy := p.BehindNginx(t)
	created := proxy.Do(t, "POST", "/api/users", program.Body("Ada", "ada"))
	proxy.Create(t, "Alan", "alan")
	var document struct{ Servers []struct{ URL string } }
	program.Must(t, json.Unmarshal([]byte(proxy.Do(t, "GET", "/openapi.json", "").Body), &document))
	link := proxy.Do(t, "GET", "/api/users?limit=1", "").Header.Get("Link")
	for _, reference := range []struct{ from, to, leads string }{
		{"/openapi.json", document.Servers[0].URL, "/"},
		{"/api/users", created.Header.Get("Location"), "/api/users/1"},
		{"/api/users", strings.TrimSuffix(strings.TrimPrefix(link, "<"), `>; rel="next"`), "/api/users?limit=1&after=1"},
	} {
		from, err := url.Parse(proxy.URL + reference.from)
		program.Must(t, err)
		to, err := from.Parse(reference.to)
		program.Must(t, err)
		program.Expect(t, fmt.Sprintf("where %s in %s leads", reference.to, reference.from), to, proxy.URL+reference.leads)
		proxy.Do(t, "GET", reference.leads, "").Expect(t, 200, "…")
	}
}

// A tag that a client knows already refuses a write as long as it is the user's (RFC 9110, section 13.1.2).
func TestAWriteIsRefusedWhileTheUserHasTheTagOfIfNoneMatch(t *testing.T) {
	t.Parallel()
	p := readable(t)
	tag := program.ETag(t, p, 1)
	for _, header := range []string{tag, "W/" + tag, `"x", ` + tag, "\"x\"\nIf-None-Match: " + tag, tag[:len(tag)-1] + `-gzip"`} {
		for _, request := range [][2]string{{"PATCH", `{"name":"B"}`}, {"PUT", both}, {"DELETE", ""}} {
			for _, path := range []string{"/api/users/1", "/api/users/ada@example.org"} {
				answer := p.Do(t, request[0], path, request[1], strings.Split("If-None-Match: "+header, "\n")...)
				answer.Expect(t, 412, `{"error":"The user has the ETag that If-None-Match names"}`)
				program.ExpectHeader(t, answer, "ETag", tag)
			}
		}
	}
	p.Do(t, "PATCH", "/api/users/1", `{"name":"B"}`, "If-Match: "+tag, "If-None-Match: "+tag).Expect(t, 412, "…If-None-Match…")
	p.Do(t, "PATCH", "/api/users/1", `{"name":"B"}`, `If-Match: "x"`, "If-None-Match: "+tag).Expect(t, 412, changed)
	p.Do(t, "PATCH", "/api/users/9", `{"name":"B"}`, "If-None-Match: *").Expect(t, 404, noUser)
	program.Expect(t, "the tag of the user", program.ETag(t, p, 1), tag)
	for _, other := range []string{`"x"`, "", `"*"`, `"` + tag, strings.Trim(tag, `"`)} {
		p.Do(t, "PATCH", "/api/users/1", `{"name":"n`+url.QueryEscape(other)+`"}`, "If-None-Match: "+other).Expect(t, 200, "…")
	}
	p.Do(t, "DELETE", "/api/users/1", "", "If-None-Match: "+tag).Expect(t, 204, "") // it was changed meanwhile
}

// A range in a unit that is not known is nothing (RFC 9110, section 14.2).
func TestARangeOfAnUnknownUnitIsIgnored(t *testing.T) {
	t.Parallel()
	p := readable(t)
	for _, path := range []string{program.CSV, program.NDJSON, "/", "/docs", "/openapi.json", "/api/users"} {
		whole := p.Do(t, "GET", path, "")
		for _, unit := range []string{"items=0-5", "seconds=1-", "x"} {
			answer := p.Do(t, "GET", path, "", "Range: "+unit)
			answer.Expect(t, 200, "…")
			program.Expect(t, "the length of "+path+" with "+unit, len(answer.Body), len(whole.Body))
		}
	}
	p.Do(t, "GET", program.CSV, "", "Range: bytes=0-4").Expect(t, 206, "id,na")
}

// Each word is looked for in each field.
func TestASearchMayHave100WordsAndAsManyFieldsAsThereMayBe(t *testing.T) {
	t.Parallel()
	var fields, words []string
	for i := range 32 {
		fields = append(fields, fmt.Sprintf("f%d", i))
	}
	for i := range 500 {
		words = append(words, string(rune(0x4e00+i)))
	}
	p := program.Serve(t, "USER_FIELDS="+strings.Join(fields, ","))
	p.Do(t, "POST", "/api/users", `{"name":"`+strings.Join(words[:50], "")+`","email":"a@x","f31":"`+strings.Join(words[50:100], "")+`"}`).Expect(t, 201, "…")
	for i, ids := range map[int]int{100: 1, 101: -1, 500: -1} {
		answer := p.Do(t, "GET", "/api/users?q="+url.QueryEscape(strings.Join(words[:i], " ")), "")
		if ids < 0 {
			answer.Expect(t, 400, `{"error":"The parameter q must be words…, and at most 100 of them"}`)
		} else {
			program.Expect(t, "how many are found", len(answer.Users(t)), ids)
		}
	}
}

// Every form that JavaScript, Python, databases and people write is a time, and a day that does not exist is none.
func TestATimeIsReadAsProgramsWriteIt(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "USER_FIELDS=updated_at")
	program.OpenOther(t, p.DatabasePath()).Insert(`INSERT INTO users (id, name, email, created_at, updated_at) VALUES
		(1, 'A', 'a@x', '2025-12-31 23:59:59', '2025-12-31 23:59:59'), (2, 'B', 'b@x', '2026-01-01 00:00:00', '2026-01-01 00:00:00')`)
	for _, name := range []string{"created", "updated"} {
		for _, form := range []string{
			"2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00+00:00", "2026-01-01T00:00:00.000000+00:00", "2026-01-01 00:00:00+00:00", "2026-01-01T00:00Z",
			"2026-01-01T00:00", "2026-01-01 00:00", "2026-01-01T02:00+02:00", "2025-12-31T19:00:00-05:00", "2026-01-01T00:00:00", "2026-01-01",
		} {
			p.Do(t, "GET", "/api/users?"+name+"_from="+url.QueryEscape(form), "").Expect(t, 200, `[{"id":2,…}]`)
			p.Do(t, "GET", "/api/users?"+name+"_to="+url.QueryEscape(form), "").Expect(t, 200, `[{"id":1,…}]`)
		}
		for _, form := range []string{"2026-02-31", "2026-02-31T00:00:00Z", "2025-02-29", "2026-04-31 12:00", "2026-13-01", "2026-00-10", "2026-01-00",
			"2026-01-01T24:00:00Z", "2026-01-01T00:60Z", "2026-01-01T00:00:00+25:00", "1767225600", "now"} {
			for _, bound := range []string{"_from", "_to"} {
				p.Do(t, "GET", "/api/users?"+name+bound+"="+url.QueryEscape(form), "").Expect(t, 400, `{"error":"The parameter `+name+bound+` must be a day or a time…"}`)
			}
		}
	}
}
