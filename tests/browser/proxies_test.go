//go:build browser

package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"users-api/tests/program"
)

// Proxies that compress JSON change the entity tag of what they send, and some serve the page below a path.
func TestBehindAProxyThatCompressesEverythingWorks(t *testing.T) {
	for name, behind := range map[string]func(p *program.Program, t *testing.T) *program.Program{
		"nginx, below a path": (*program.Program).BehindNginx,
		"Apache":              withTag(`"%s-gzip"`), "Caddy": withTag(`"%s-zstd"`), "a weak tag": withTag(`W/"%s"`),
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t)
			create(t, p, 2)
			ada := visit(t, behind(p, t), "/")
			ada.imports("people.csv", "name,email\nUser 002,user2@example.org\n")
			ada.clicks("button", "Import 1 user").lists("User 002", "User 001", "User 000")
			ada.clicks("button", "Close")
			ada.changes("User 000", "Name", "Ada")
			ada.opens("Change Ada", "Change user").fills("Name", "Mine")
			p.Change(t, 1, `{"name":"Theirs"}`)
			ada.clicks("button", "Save").sees("dialog", "Changed by somebody else meanwhile")
			ada.clicks("button", "Overwrite it with yours").lists("User 002", "User 001", "Mine")
			ada.fills("Search names and emails", "mine").lists("Mine")
			ada.fromMenu("Export")
			ada.expect("the file", ada.downloads(exactly), "…\r\n1,Mine,…\r\n")
			ada.clicks("button", "Close")
			ada.opens("Delete Mine", "Delete this user?").clicks("button", "Delete").reads("Mine was deleted")
			ada.clicks("button", "Show everybody").lists("User 002", "User 001")
			ada.clicks("checkbox", "Select all on this page")
			ada.opens("Delete 2 users", "Delete 2 users?")
			ada.clicks("button", "Delete 2 users").reads("2 users deleted")
			p.ExpectUsers(t)
			ada.clicks("button", "Undo").lists("User 002", "User 001")
		})
	}
}

// withTag is a proxy that puts the service's tag into another one.
func withTag(form string) func(*program.Program, *testing.T) *program.Program {
	return func(p *program.Program, t *testing.T) *program.Program {
		t.Helper()
		target, err := url.Parse(p.URL)
		program.Must(t, err)
		proxy := httputil.NewSingleHostReverseProxy(target)
		proxy.ModifyResponse = func(answer *http.Response) error {
			if tag := answer.Header.Get("ETag"); strings.Contains(answer.Header.Get("Content-Type"), "json") && tag != "" {
				answer.Header.Set("ETag", fmt.Sprintf(form, strings.Trim(tag, `"`)))
			}
			return nil
		}
		server := httptest.NewServer(proxy)
		t.Cleanup(server.Close)
		return p.At(server.URL)
	}
}

func TestTheReaderOfTheDocumentTriesACall(t *testing.T) {
	p := start(t)
	ada := visit(t, p, "/docs")
	ada.reads("List users", "/api/users/{id}")
	ada.expect("locks, although no key is needed",
		evaluate[int](ada, `document.querySelectorAll('.authorization__btn, .authorize').length`), 0)
	triesACall(ada)
	ada.expect("rows of HEAD", evaluate[int](ada, `document.querySelectorAll('.opblock-head').length`), 0)
	for scheme, isDark := range map[string]bool{"dark": true, "light": false} {
		ada.look(scheme, 1120, 640)
		ada.until(scheme, func() bool {
			return evaluate[bool](ada, `parseInt(getComputedStyle(document.documentElement).backgroundColor.slice(4)) < 60
				&& getComputedStyle(document.documentElement).backgroundColor.startsWith('rgb(')`) == isDark
		})
	}
	ada.clicks("link", "← Users").reads("No users yet")
	triesACall(visit(t, p.BehindNginx(t), "/docs")) // below a path
}

// triesACall has the reader of the document send a request.
func triesACall(ada *person) {
	ada.clicks("button", "GET /health Ask whether the service is alive")
	// The example: before it is shown, Swagger UI does not find the operation.
	ada.reads(`"status": "ok"`)
	ada.clicks("button", "Execute").reads("x-request-id: ") // only an answer has it
}
