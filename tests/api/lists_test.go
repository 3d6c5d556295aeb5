package api

import (
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
	names := []string{`"double", 'single' and ''two''`, "one\ntwo\r\nthree\rfour\n", `\ \\ \n \u0000 \N`, `'); DROP TABLE users; --`, "null",
		"  a  ", "<b>&amp;</b>", "Ærø Łódź 東京 🦊 \u2028 \u202e \ufeff"}
	for char := firstCharacter; char < 0x100; char++ {
		names = append(names, "before"+string(char)+"after"+strings.Repeat(string(char), 4))
	}
	rows := ""
	for i, name := range names {
		rows += program.Body(name, fmt.Sprint(name, i)) + "\n"
	}
	kept.Do(t, "POST", program.NDJSON, rows).Expect(t, 200, "…")
	file := kept.Do(t, "GET", program.CSV, "").Body
	kept.Do(t, "POST", program.CSV+"?on_conflict=update", file).Expect(t, 200, `{"created":0,"updated":0,"skipped":`+fmt.Sprint(len(names))+`,…`)
	for _, p := range []*program.Program{kept, uncached} {
		for i, user := range p.ExpectUsers(t, names...) {
			program.Expect(t, "an email", user.Email, fmt.Sprint(names[i], i))
		}
	}
}

func TestWhatHasNotChangedIsNotSentAgain(t *testing.T) {
	t.Parallel()
	p := readable(t)
	other := program.OpenOther(t, p.DatabasePath())
	for i, path := range []string{"/api/users", "/api/users?limit=2", "/api/users?email=ada@example.org", "/api/users/1"} {
		first := p.Do(t, "GET", path, "")
		etag := first.Header.Get("ETag")
		program.Expect(t, "the ETag of "+path, etag, `"…"`)
		program.ExpectHeader(t, first, "Cache-Control", "no-cache")
		end := func(more string) string { return etag[:len(etag)-1] + more + `"` }
		for header, status := range map[string]int{
			etag: 304, "W/" + etag: 304, `"x", ` + etag: 304, "*": 304, `"x"`: 200, strings.Trim(etag, `"`): 200, `"a,*,b"`: 200, `"a,` + etag + `,b"`: 200,
			end("-gzip"): 304, "W/" + end("-br"): 304, `"x", ` + end("-zstd"): 304, end("x"): 200, // of proxies that compress
			"\"x\"\nIf-None-Match: \"y\"," + etag: 304, // two lines are one
		} {
			answer := p.Ask(t, "GET "+path+"\nIf-None-Match: "+header, "").To(path + " with " + header)
			answer.Expect(t, status, map[int]string{200: first.Body}[status])
			program.ExpectHeader(t, answer, "ETag", etag)
		}
		name := fmt.Sprint("Countess ", i)
		other.Do("UPDATE users SET name = '" + name + "' WHERE id = 1")
		p.Do(t, "GET", path, "", "If-None-Match: "+etag).Expect(t, 200, "…"+name+"…")
	}
}

// A client that finds a user in a list can change it on the condition of If-Match. It keeps each header that a 304 does not
// repeat: a page whose Link leads to users who are gone is another.
func TestAListOfOneUserHasTheETagOfTheUser(t *testing.T) {
	t.Parallel()
	p := readable(t)
	etag := program.ETag(t, p, 1)
	for query, is := range map[string]bool{
		"email=ada@example.org": true, "limit=1&count=true&name=Ada+Lovelace": true, "q=lovelace": true, "limit=1": false, "id=2": false,
	} {
		program.Expect(t, "whether "+query+" has it", p.Do(t, "GET", "/api/users?"+query, "").Header.Get("ETag") == etag, is)
	}
	page := p.Do(t, "GET", "/api/users?limit=5", "")
	p.Delete(t, 7)
	p.Do(t, "GET", "/api/users?limit=5", "", "If-None-Match: "+page.Header.Get("ETag")).Expect(t, 200, page.Body)
}

// Every reference is relative, so that a proxy may put a prefix before each path.
func TestBehindAPathPrefixEveryReferenceLeadsBack(t *testing.T) {
	t.Parallel()
	proxy := program.Serve(t).BehindNginx(t)
	created := proxy.Do(t, "POST", "/api/users", program.Body("Ada", "ada"))
	proxy.Create(t, "Alan", "alan")
	proxy.Do(t, "GET", "/openapi.json", "").Expect(t, 200, `…"servers": […"url": "."…`)
	page := proxy.Do(t, "GET", "/api/users?limit=1", "")
	for reference, leads := range map[string]string{
		created.Header.Get("Location"): "/api/users/1", page.Next(): "/api/users?limit=1&after=1",
	} {
		from, err := url.Parse(proxy.URL + "/api/users")
		program.Must(t, err)
		to, err := from.Parse(reference)
		program.Must(t, err)
		program.Expect(t, "where "+reference+" leads", to, proxy.URL+leads)
		proxy.Do(t, "GET", leads, "").Expect(t, 200, "…")
	}
}

// A tag that a client knows already refuses a write as long as it is the user's (RFC 9110, section 13.1.2).
func TestAWriteIsRefusedWhileTheUserHasTheTagOfIfNoneMatch(t *testing.T) {
	t.Parallel()
	p := readable(t)
	tag := program.ETag(t, p, 1)
	for _, header := range []string{tag, "W/" + tag, "\"x\"\nIf-None-Match: " + tag, tag[:len(tag)-1] + `-gzip"`} {
		for _, request := range []string{patch, put, "DELETE /api/users/1", "PUT" + byEmail} {
			answer := p.Ask(t, request+"\nIf-None-Match: "+header, both)
			answer.Expect(t, 412, `{"error":"The user has the ETag that If-None-Match names"}`)
			program.ExpectHeader(t, answer, "ETag", tag)
		}
	}
	p.Ask(t, patch, named, "If-Match: "+tag, "If-None-Match: "+tag).Expect(t, 412, "…If-None-Match…")
	p.Ask(t, patch, named, `If-Match: "x"`, "If-None-Match: "+tag).Expect(t, 412, changed)
	for _, other := range []string{`"x"`, "", `"*"`, `"` + tag} {
		p.Ask(t, patch, `{"name":"n`+url.QueryEscape(other)+`"}`, "If-None-Match: "+other).Expect(t, 200, "…")
	}
	p.Do(t, "DELETE", "/api/users/1", "", "If-None-Match: "+tag).Expect(t, 204, "") // it was changed meanwhile
}

// Each word is looked for in each field.
func TestASearchMayHave100WordsAndAsManyFieldsAsThereMayBe(t *testing.T) {
	t.Parallel()
	var fields, words []string
	for i := range 32 {
		fields = append(fields, fmt.Sprintf("f%d", i))
	}
	for i := range 101 {
		words = append(words, string(rune(0x4e00+i)))
	}
	p := program.Serve(t, "USER_FIELDS="+strings.Join(fields, ","))
	user := fmt.Sprintf(`{"name":"%s","email":"a@x","f31":"%s"}`, strings.Join(words[:50], ""), strings.Join(words[50:], ""))
	p.Do(t, "POST", "/api/users", user).Expect(t, 201, "…")
	query := "/api/users?q=" + url.QueryEscape(strings.Join(words[:100], " "))
	p.Do(t, "GET", query, "").Expect(t, 200, "[{…}]")
	p.Do(t, "GET", query+"+a", "").Expect(t, 400, `{"error":"The parameter q must be words…, and at most 100 of them"}`)
}

// Every form that JavaScript, Python, databases and people write is a time, and a day that does not exist is none.
func TestATimeIsReadAsProgramsWriteIt(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "USER_FIELDS=updated_at")
	program.OpenOther(t, p.DatabasePath()).Insert(`INSERT INTO users (id, name, email, created_at, updated_at) VALUES
		(1, 'A', 'a@x', '2025-12-31 23:59:59', '2025-12-31 23:59:59'), (2, 'B', 'b@x', '2026-01-01 00:00:00', '2026-01-01 00:00:00')`)
	for _, name := range []string{"created", "updated"} {
		for _, form := range []string{"2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.000000+00:00", "2026-01-01 00:00:00+00:00", "2026-01-01T00:00Z",
			"2026-01-01 00:00", "2025-12-31T19:00:00-05:00", "2026-01-01T00:00:00", "2026-01-01"} {
			p.Do(t, "GET", "/api/users?"+name+"_from="+url.QueryEscape(form), "").Expect(t, 200, `[{"id":2,…}]`)
			p.Do(t, "GET", "/api/users?"+name+"_to="+url.QueryEscape(form), "").Expect(t, 200, `[{"id":1,…}]`)
		}
		for _, form := range []string{"2026-02-31", "2025-02-29T00:00:00Z", "2026-13-01", "2026-00-10", "2026-01-01T24:00:00Z", "2026-01-01T00:60Z",
			"2026-01-01T00:00:00+25:00", "1767225600", "now"} {
			p.Do(t, "GET", "/api/users?"+name+"_from="+url.QueryEscape(form), "").Expect(t, 400, `{"error":"The parameter `+name+`_from must be a day or a time…"}`)
		}
	}
}
