//go:build proxies

package docs

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"users-api/tests/program"
)

type site struct{ proxy, site string }

// sites returns the blocks for proxies that a part of docs/installing.md shows.
func sites(t *testing.T, heading string) (shown []site) {
	t.Helper()
	for _, name := range []string{"nginx", "caddy"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Fatalf("%s is missing: apt-get install nginx-light caddy", name)
		}
	}
	_, text, _ := strings.Cut(program.ReadFile(t, "../../docs/installing.md"), "\n## "+heading+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	for _, match := range regexp.MustCompile("(?s)```(nginx|caddy)(?:file)?\n(.*?)```").FindAllStringSubmatch(text, -1) {
		if match[1] == "nginx" && !strings.Contains(match[2], "server {") { // it is a part of another site
			match[2] = "server { listen 443 ssl;\n" + match[2] + "}"
		}
		shown = append(shown, site{match[1], match[2]})
	}
	return shown
}

// Each block for a proxy is read by that proxy as it stands, but for addresses and TLS. ETags come through, a browser may write, a
// file of more than 1 MB is imported, and the page is there.
func TestEachProxyOfTheDocumentsServesThePageAndTakesFiles(t *testing.T) {
	t.Parallel()
	shown := sites(t, "A proxy with TLS")
	program.Expect(t, "that there are blocks for proxies", len(shown) >= 4, true)
	p := program.Serve(t)
	p.Create(t, "Ada", "ada@example.org")
	etag := program.ETag(t, p, 1)
	for _, one := range shown {
		path := ""
		if strings.Contains(one.site, "/users/") {
			path = "/users"
		}
		t.Run(one.proxy+path, func(t *testing.T) {
			t.Parallel()
			proxied := p.Behind(t, one.proxy, one.site)
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

// signIn stands in for Authelia and oauth2-proxy: who has a cookie is that person, and an editor.
func signIn(w http.ResponseWriter, request *http.Request) {
	cookie, err := request.Cookie("session")
	if err != nil {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	for _, prefix := range []string{"Remote-", "X-Auth-Request-"} {
		w.Header().Set(prefix+"User", cookie.Value)
		w.Header().Set(prefix+"Email", cookie.Value)
		w.Header().Set(prefix+"Groups", "staff,editors")
	}
}

// Each block names whom the proxy knows, and nobody whom a client names.
func TestEachProxyOfTheDocumentsNamesWhoHasSignedIn(t *testing.T) {
	t.Parallel()
	hash, err := exec.Command("caddy", "hash-password", "--plaintext", "secret").Output()
	program.Must(t, err)
	server := httptest.NewServer(http.HandlerFunc(signIn))
	t.Cleanup(server.Close)
	asks := strings.TrimPrefix(server.URL, "http://")
	const key = "proxy-key-0123456789"
	p := program.Serve(t, "PROXY_KEY="+key, "PERSON_WRITERS=group:editors", "API_READ_KEY=read-key-0123456789")
	shown := sites(t, "People who sign in")
	program.Expect(t, "how many blocks name people", len(shown), 3)
	for i, one := range shown {
		t.Run([]string{"Caddy", "Caddy with Authelia", "nginx with oauth2-proxy"}[i], func(t *testing.T) {
			t.Parallel()
			site := strings.NewReplacer("PROXY-KEY", key, "HASH", strings.TrimSpace(string(hash)), "127.0.0.1:9091", asks, "127.0.0.1:4180", asks).Replace(one.site)
			proxied := p.Behind(t, one.proxy, site)
			isBasic := strings.Contains(site, "basicauth")
			signedIn, access := "Cookie: session=ada", "full"
			if isBasic {
				signedIn, access = "Authorization: Basic YWRhOnNlY3JldA==", "read" // Caddy knows no groups
			}
			for name, forged := range map[string][]string{
				"nothing else":           {},
				"a forged person":        {"Remote-User: eve", "remote-groups: editors"},
				"a forged key":           {"X-API-Key: forged-key-0123456789", "X-API-Key: " + key},
				"headers named for hops": {"Connection: Remote-User, X-API-Key, Remote-Groups", "Remote-User: eve"},
				"another spelling":       {"Remote_User: eve", "Remote_Groups: editors", "X_API_Key: " + key},
			} {
				me := proxied.Do(t, "GET", "/api/me", "", append(forged, signedIn)...).To(name)
				if !strings.HasPrefix(name, "headers") || me.Status != 401 { // Caddy strips what it has just set
					me.Expect(t, 200, `{"person":"ada","access":"`+access+`"}…`)
				}
				answer := proxied.Do(t, "GET", "/api/users?limit=1", "", forged...)
				if answer.Status != 401 && !strings.Contains(answer.Body, "sign_in") { // who was sent there gets its page
					t.Errorf("with %s nobody is answered %d %s", name, answer.Status, answer.Body)
				}
			}
			if !isBasic {
				proxied.Do(t, "GET", "/api/me", "", signedIn, "Authorization: Bearer read-key-0123456789").
					Expect(t, 200, `{"key":"API_READ_KEY","access":"read"}…`)
			}
		})
	}
}
