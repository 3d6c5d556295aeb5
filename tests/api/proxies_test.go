package api

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"users-api/tests/program"
)

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
