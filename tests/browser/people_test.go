//go:build browser

package browser

import (
	"testing"

	"github.com/chromedp/chromedp/kb"

	"users-api/tests/program"
)

// behindSignIn starts the program behind an nginx at which people sign in: /login?as=NAME does so, and a request of nobody
// is sent there.
func behindSignIn(t *testing.T) *program.Program {
	t.Helper()
	p := start(t, "PROXY_KEY=proxy-key-0123456789", "PERSON_WRITERS=group:editors")
	p.Do(t, "POST", "/api/users", program.Body("Ada", "ada@example.org"), "X-API-Key: proxy-key-0123456789", "Remote-User: ada",
		"Remote-Groups: editors").Expect(t, 201, "…")
	return p.Behind(t, "nginx", `
	map $cookie_session $groups { ada staff,editors; default staff; }
	server {
		listen 443 ssl;
		location = /favicon.ico { return 204; } # of the page to sign in
		location = /login { default_type text/html; add_header Set-Cookie "session=$arg_as; Path=/"; return 200 "Please sign in"; }
		location / {
			if ($cookie_session = "") { return 302 /login; }
			proxy_pass http://127.0.0.1:3000; proxy_set_header Host $http_host;
			proxy_set_header X-API-Key proxy-key-0123456789;
			proxy_set_header Remote-User $cookie_session; proxy_set_header Remote-Groups $groups;
		}
	}`)
}

func signIn(ada *person, name string) {
	evaluate[string](ada, `fetch('/login?as=`+name+`').then((answer) => answer.text())`)
}

func TestWhoHasSignedInNeedsNoKeyAndIsNamed(t *testing.T) {
	p := behindSignIn(t)
	ada := visit(t, p, "/login?as=ada")
	ada.reads("Please sign in")
	ada.open("/").lists("Ada")
	ada.reads("ada")
	ada.seesNo("dialog", "This service asks for a key")
	ada.clicks("button", "Add user")
	ada.fills("Name", "Ben").fills("Email", "ben@example.org").types(kb.Enter).lists("Ben", "Ada")
	ada.check()
	forged := []string{"Remote-User: eve", "Remote-Groups: editors", "X-API-Key: forged-0123456789"}
	p.Do(t, "GET", "/api/me", "", append(forged, "Cookie: session=bob")...).Expect(t, 200, `{"person":"bob","access":"read"}…`)

	ada.open("/login?as=bob").reads("Please sign in")
	ada.open("/").reads("bob: You can look but not change")
	for _, name := range []string{"Add user", "Change Ben", "Delete Ben"} {
		ada.seesNo("button", name)
	}
}

func TestWhatWasTypedOutlivesTheSignIn(t *testing.T) {
	ada := visit(t, behindSignIn(t), "/login?as=ada")
	ada.reads("Please sign in")
	ada.open("/").lists("Ada")
	ada.clicks("button", "Add user")
	ada.fills("Name", "Ben").fills("Email", "ben@example.org")
	signIn(ada, "") // the cookie has gone
	ada.types(kb.Enter).reads("Your sign-in has ended")
	ada.check()
	ada.expect("the name", ada.value("Name"), "Ben")
	signIn(ada, "ada") // in another tab
	ada.types(kb.Enter).lists("Ben", "Ada")
	signIn(ada, "")
	ada.fills("Search names and emails", "ben").reads("Your sign-in has ended")
	signIn(ada, "ada")
	ada.clicks("button", "Load the page again").lists("Ben")
}
