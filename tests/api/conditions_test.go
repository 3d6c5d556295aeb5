package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"users-api/tests/program"
)

func TestAnEntityTagAllowsOneChange(t *testing.T) {
	t.Parallel()
	p := readable(t)
	for i, header := range []string{`%s`, `"x", %s`, `%s,"y"`, "\"x\" ,\t%s", `"a,b", %s`} {
		old := program.ETag(t, p, 1)
		body := fmt.Sprintf(`{"name":"Ada %d"}`, i)
		header = "If-Match: " + fmt.Sprintf(header, old)
		first := p.Do(t, "PATCH", "/api/users/1", body, header)
		if first.Status != 200 || first.Header.Get("ETag") == old {
			t.Fatalf("%s is answered %d %s", header, first.Status, first.Body)
		}
		expectStale(t, p.Do(t, "PUT", "/api/users/1", both, header), first.Header.Get("ETag"))
		expectStale(t, p.Do(t, "DELETE", "/api/users/1", "", header), first.Header.Get("ETag"))
	}
	now := program.ETag(t, p, 1)
	for _, weak := range []string{"W/" + now, "w/" + now, strings.Trim(now, `"`), `"x"`, ""} {
		expectStale(t, p.Do(t, "PATCH", "/api/users/1", both, "If-Match: "+weak), now)
	}
	p.Do(t, "DELETE", "/api/users/1", "", "If-Match: "+now).Expect(t, 204, "")
}

func expectStale(t *testing.T, answer program.Answer, current string) {
	t.Helper()
	answer.Expect(t, http.StatusPreconditionFailed, changed)
	program.ExpectHeader(t, answer, "ETag", current)
}

func TestTwoLinesOfAConditionAreOne(t *testing.T) {
	t.Parallel()
	p := readable(t)
	for begin, status := range map[string]int{
		"PATCH /api/users/1 HTTP/1.1\r\nHost: x\r\nIf-Match": 200, "GET /api/users/1 HTTP/1.1\r\nHost: x\r\nIf-None-Match": 304,
	} {
		_, condition, _ := strings.Cut(begin, "Host: x\r\n")
		conn := p.Dial(t)
		conn.Send("%s: \"x\"\r\n%s: \"y\",%s\r\n", begin, condition, program.ETag(t, p, 1))
		conn.Send("Content-Length: 2\r\n\r\n{}")
		if answer := conn.Answer(); answer.Status != status {
			t.Errorf("%s is answered %d %s", condition, answer.Status, answer.Body)
		}
	}
}

// Another program's change counts as well.
func TestAnEntityTagIsOfTheUserAsItIsStored(t *testing.T) {
	t.Parallel()
	p := readable(t)
	old := program.ETag(t, p, 1)
	program.OpenOther(t, p.DatabasePath()).Do("UPDATE users SET name = 'Countess' WHERE id = 1")
	expectStale(t, p.Do(t, "PATCH", "/api/users/1", both, "If-Match: "+old), program.ETag(t, p, 1))
}
