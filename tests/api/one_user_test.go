package api

import (
	"net/http"
	"strings"
	"testing"

	"users-api/tests/program"
)

func TestAUserThatHasNotChangedIsNotSentAgain(t *testing.T) {
	t.Parallel()
	p := readable(t)
	etag := p.Do(t, "GET", "/api/users/1", "").Header.Get("ETag")
	if !strings.HasPrefix(etag, `"`) {
		t.Fatalf("the ETag is %s", etag)
	}
	for header, status := range map[string]int{
		etag: 304, "W/" + etag: 304, `"x", ` + etag: 304, "*": 304, `"x"`: 200, strings.Trim(etag, `"`): 200,
	} {
		for _, method := range []string{"GET", "HEAD"} {
			answer := p.Do(t, method, "/api/users/1", "", "If-None-Match: "+header)
			if answer.Status != status || status == 304 && answer.Body != "" || answer.Header.Get("ETag") != etag {
				t.Errorf("%s with If-None-Match: %s is answered %d %s", method, header, answer.Status, answer.Body)
			}
		}
	}
	if other := p.Do(t, "GET", "/api/users/2", "").Header.Get("ETag"); other == etag || other == "" {
		t.Errorf("the ETag of another user is %s", other)
	}
	if found := p.Do(t, "GET", "/api/users?email=ada@example.org", "").Header.Get("ETag"); found != etag {
		t.Errorf("the ETag of a list of one is %s and of the user %s", found, etag)
	}
	program.OpenOther(t, p.DatabasePath()).Do("UPDATE users SET name = 'Countess' WHERE id = 1")
	answer := p.Do(t, "GET", "/api/users/1", "", "If-None-Match: "+etag)
	if answer.Status != http.StatusOK || answer.User(t).Name != "Countess" || answer.Header.Get("ETag") == etag {
		t.Errorf("a changed user is answered %d %s", answer.Status, answer.Body)
	}
}

func TestAnIDWithoutAUserIsNotFound(t *testing.T) {
	t.Parallel()
	p := readable(t)
	for _, id := range []string{
		"6", "0", "-1", "abc", "1.0", "+1", "01", "%201", "0x1", "1e0", "-0", "1%20OR%201=1", "18446744073709551617",
		"9223372036854775808", "1%00", "١", "%25", "*",
	} {
		for _, method := range []string{"GET", "HEAD", "PATCH", "PUT", "DELETE"} {
			answer := p.Do(t, method, "/api/users/"+id, `{"name":"A","email":"a@b"}`, "If-Match: *")
			answer.Expect(t, 404, map[bool]string{true: "", false: noUser}[method == "HEAD"])
		}
	}
	if users := p.List(t); len(users) != 6 {
		t.Errorf("the users are %v", users)
	}
}
