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
	for _, other := range []string{"w/" + now, strings.Trim(now, `"`), `"x"`, "", `"a,*,b"`, `"x", *`, `"a,` + now + `,b"`,
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
