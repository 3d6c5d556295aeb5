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
	for _, weak := range []string{"W/" + now, "w/" + now, strings.Trim(now, `"`), `"x"`, ""} {
		expectStale(t, p.Do(t, "PATCH", "/api/users/1", both, "If-Match: "+weak), now)
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
