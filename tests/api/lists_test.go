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

// A proxy that compresses makes another tag of each. Who sends that back is told so, and what to send.
func TestBehindAProxyThatCompressesAClientLearnsWhichTagToSend(t *testing.T) {
	t.Parallel()
	proxy := readable(t).BehindNginx(t)
	const gzip = "Accept-Encoding: gzip"
	tag := proxy.Do(t, "GET", "/api/users/1", "", gzip).Header.Get("ETag")
	if !strings.HasPrefix(tag, `W/"`) {
		t.Fatalf("nginx has left the tag as it is: %s", tag)
	}
	for _, path := range []string{"/api/users/1", "/api/users?email=ada@example.org"} {
		proxy.Do(t, "GET", path, "", gzip, "If-None-Match: "+tag).Expect(t, 304, "")
	}
	refused := proxy.Do(t, "PATCH", "/api/users/1", `{"name":"Ada King"}`, gzip, "If-Match: "+tag)
	expectRewritten(t, refused, strings.TrimPrefix(tag, "W/"))
	proxy.Do(t, "PATCH", "/api/users/1", `{"name":"Ada King"}`, "If-Match: "+refused.Header.Get("ETag")).Expect(t, 200, "…Ada King…")
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
