//go:build browser

package browser

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"users-api/tests/program"
)

const (
	writeKey = "a-key-that-may-write"
	readKey  = "a-key-that-may-read!"
)

// withKeys starts the program with both keys, and Ada in it.
func withKeys(t *testing.T) *program.Program {
	t.Helper()
	p := start(t, "API_KEY="+writeKey, "API_READ_KEY="+readKey)
	p.Do(t, "POST", "/api/users", program.Body("Ada", "ada@example.org"), "X-API-Key: "+writeKey).Expect(t, 201, "…")
	return p
}

func TestTheKeyIsAskedForOnceAndKeptInTheTab(t *testing.T) {
	p := withKeys(t)
	ada := visit(t, p, "/")
	for _, wrong := range []string{"", "wrong-but-long-enough"} {
		ada.sees("dialog", "Enter your key")
		ada.reads("Ask whoever set this up.")
		program.Forbid(t, ada.page(), "users-api") // the key it prints is a new one
		timer(ada, 200*time.Millisecond)           // a slow list says that it is loading
		program.Forbid(t, ada.page(), "is needed", "Loading")
		if wrong != "" {
			ada.gives(wrong).reads("The API key is not valid")
		}
		ada.check()
		ada.types(kb.Escape).sees("alert", "")
		ada.reads("An API key is needed")
		ada.seesNo("region", "Users") // an empty list would be a line
		for _, name := range []string{"Add user", "Menu"} {
			ada.seesNo("button", name)
		}
		ada.clicks("button", "Enter the key")
	}
	ada.gives(writeKey).lists("Ada")
	ada.clicks("button", "Add user")
	ada.fills("Name", "Ben").fills("Email", "ben@example.org").types(kb.Enter).lists("Ben", "Ada")
	ada.seesNo("dialog", "Add user") // it is saved
	ada.reloads().lists("Ben", "Ada")
	ada.expect("where a key may be",
		evaluate[string](ada, `location.href + document.cookie + Object.values(localStorage)`), ada.origin+"/")
	ada.opens("Sign out", "Enter your key")
	program.Forbid(t, p.Log(), "method=DELETE", "status=404") // the page does not try what its key may do
}

func TestAReadKeyHasNoButtonsThatWouldBeRefused(t *testing.T) {
	ada := visit(t, withKeys(t), "/")
	ada.gives(readKey).lists("Ada")
	for _, again := range []bool{false, true} {
		if again {
			ada.reloads()
		}
		ada.clicks("button", "Menu").sees("button", "Export")
		for _, name := range []string{"Add user", "Import", "Change Ada", "Delete Ada"} {
			ada.seesNo("button", name)
		}
		ada.seesNo("checkbox", "Select Ada")
		ada.expect("what a screen reader says", evaluate[string](ada, `document.querySelector('#access[role=status]').innerText`),
			"You can look but not change")
	}
	ada.clicks("button", "Export")
	ada.expect("the file", ada.downloads(exactly), "…,Ada,…")
	ada.clicks("button", "Close")
	evaluate[any](ada, `window.said = 0; new MutationObserver(() => said++).observe(
		document.querySelector('#access'), { childList: true })`)
	ada.fills("Search names and emails", "nobody").reads("No user matches")
	ada.expect("how often a screen reader says again what the key may do", evaluate[int](ada, `said`), 0)
}

func TestAKeyIsRememberedOnThisDeviceIfThePersonSaysSo(t *testing.T) {
	p := withKeys(t)
	ada := visit(t, p, "/")
	ada.sees("dialog", "Enter your key")
	ada.clicks("checkbox", "Remember it on this device")
	ada.gives(readKey).lists("Ada")
	ada.expect("what is kept in the tab", evaluate[string](ada, `Object.values(sessionStorage).join()`), "")
	tab := &person{T: t, origin: p.URL} // another one in the same browser
	var closes context.CancelFunc
	tab.ctx, closes = chromedp.NewContext(ada.ctx, chromedp.WithNewWindow(false))
	defer closes()
	tab.open("/").lists("Ada")
	tab.reads("You can look but not change")
	tab.opens("Sign out", "Enter your key")
	tab.gives(writeKey).lists("Ada")
	program.Forbid(t, tab.page(), "You can look but not change")
	tab.expect("what is kept on the device", evaluate[string](tab, `Object.values(localStorage).join()`), "")
}
