package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"users-api/tests/program"
)

func TestAUserMayContainAnyCharacter(t *testing.T) {
	t.Parallel()
	kept := program.Serve(t)
	uncached := program.Serve(t, "DATA_DIR="+kept.DataDir, "LIST_MEMORY_MIB=0")
	var rows strings.Builder
	var want []string
	for char := firstCharacter; char < 0x100; char++ {
		name, email := "before"+string(char)+"after"+strings.Repeat(string(char), 4), string(char)
		text, err := json.Marshal(program.User{Name: name, Email: email})
		program.Must(t, err)
		rows.Write(append(text, '\n'))
		want = append(want, name+" "+email)
	}
	kept.Do(t, "POST", program.NDJSON, rows.String()).Expect(t, 200, "…")
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
		if changed.Header.Get("ETag") == etag {
			t.Errorf("after a change %s has the same ETag", path)
		}
	}
}

// A client that finds a user in a list can change it on the condition of If-Match.
func TestAListOfOneUserHasTheETagOfTheUser(t *testing.T) {
	t.Parallel()
	p := readable(t)
	etag := program.ETag(t, p, 1)
	for _, query := range []string{"email=ada@example.org", "limit=1", "limit=1&count=true", "q=lovelace"} {
		program.ExpectHeader(t, p.Do(t, "GET", "/api/users?"+query, ""), "ETag", etag)
	}
	if another := program.ETag(t, p, 2); another == etag || another == "" {
		t.Errorf("the ETag of another user is %s", another)
	}
}

// A client keeps each header that a 304 does not repeat, also a Link to users who are gone.
func TestALinkToUsersWhoAreGoneIsNotKept(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	other := program.OpenOther(t, p.DatabasePath())
	for path, status := range map[string]int{"/api/users?limit=2": 200, "/api/users?limit=1": 304,
		program.CSV + "?limit=2": 200, program.NDJSON + "?limit=1": 200} {
		other.Empty()
		other.Fill(3)
		page := p.Do(t, "GET", path, "")
		other.Do("DELETE FROM users WHERE id > 1 AND id <> " + path[len(path)-1:])
		again := p.Do(t, "GET", path, "", "If-None-Match: "+page.Header.Get("ETag"))
		again.Expect(t, status, map[int]string{200: page.Body}[status])
		kept := program.Answer{Header: page.Header}
		maps.Copy(kept.Header, again.Header)
		if status == 200 {
			kept = again
		}
		program.ExpectHeader(t, kept, "Link", "")
	}
}
