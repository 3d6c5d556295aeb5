package api

import (
	"strings"
	"testing"
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
