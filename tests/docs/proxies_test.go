//go:build proxies

package docs

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"users-api/tests/program"
)

// Each block for a proxy is read by that proxy as it stands, but for addresses and TLS. ETags come through, a browser may write, a
// file of more than 1 MB is imported, and the page is there.
func TestEachProxyOfTheDocumentsServesThePageAndTakesFiles(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"nginx", "caddy"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Fatalf("%s is missing: apt-get install nginx-light caddy", name)
		}
	}
	_, text, _ := strings.Cut(program.ReadFile(t, "../../docs/installing.md"), "\n## A proxy with TLS\n")
	text, _, _ = strings.Cut(text, "\n## ")
	shown := regexp.MustCompile("(?s)```(nginx|caddy)(?:file)?\n(.*?)```").FindAllStringSubmatch(text, -1)
	if len(shown) < 4 {
		t.Fatalf("docs/installing.md shows %d blocks for proxies", len(shown))
	}
	p := program.Serve(t)
	p.Create(t, "Ada", "ada@example.org")
	etag := program.ETag(t, p, 1)
	for _, match := range shown {
		proxy, site, path := match[1], match[2], ""
		if strings.Contains(site, "/users/") {
			path = "/users"
		}
		t.Run(proxy+path, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(site, "example.com") { // it is a part of another site
				site = "server { listen 443 ssl;\n" + site + "}"
			}
			proxied := p.Behind(t, proxy, site)
			origin := "Origin: " + proxied.URL
			proxied = p.At(proxied.URL + path)
			program.ExpectHeader(t, proxied.Do(t, "GET", "/api/users/1", "", "Accept-Encoding: gzip"), "ETag", etag)
			proxied.Do(t, "PATCH", "/api/users/1", `{"name":"Ada"}`, "If-Match: "+etag, origin).Expect(t, 200, "…")
			proxied.Do(t, "POST", program.CSV+"?dry_run=true", program.ManyRows(50_000), origin).
				Expect(t, 200, program.Imported(50_000, 0, 0, 0))
			proxied.Do(t, "GET", "", "").Expect(t, 200, "<!doctype html>…") // below a path by a redirect to its slash
		})
	}
}
