//go:build browser

package browser

import (
	"strings"
	"testing"

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
	answer := p.Do(t, "POST", "/api/users", program.Body("Ada", "ada@example.org"), "X-API-Key: "+writeKey)
	if answer.Status != 201 {
		t.Fatalf("answered %d %s", answer.Status, answer.Body)
	}
	return p
}

func TestTheKeyIsAskedForOnceAndKeptInTheTab(t *testing.T) {
	p := withKeys(t)
	ada := visit(t, p, "/")
	ada.sees("dialog", "This service asks for a key")
	if got := evaluate[string](ada, `document.querySelector('#key').innerText`); strings.Contains(got, "is needed") {
		t.Errorf("the dialog shows an error before a key was given: %s", got)
	}
	ada.fills("API key", "wrong-but-long-enough")
	ada.types(kb.Enter)
	ada.reads("The API key is not valid")
	ada.types(kb.Escape)
	ada.sees("button", "Import") // a wrong key says nothing about what may be done
	ada.sees("button", "Add user")
	ada.clicks("button", "Try again")
	ada.fills("API key", writeKey)
	ada.types(kb.Enter)
	ada.lists("Ada")
	ada.clicks("button", "Add user")
	ada.fills("Name", "Ben")
	ada.fills("Email", "ben@example.org")
	ada.types(kb.Enter)
	ada.lists("Ben", "Ada")
	ada.must(chromedp.Do(ada.ctx, chromedp.Reload()))
	ada.lists("Ben", "Ada")
	if got := evaluate[string](ada, `location.href + document.cookie + Object.values(localStorage)`); got != ada.origin+"/" {
		t.Errorf("the key may be in %q", got)
	}
	ada.clicks("button", "Forget the key")
	ada.sees("dialog", "This service asks for a key")
	if log := p.Log(); strings.Contains(log, "method=DELETE") || strings.Contains(log, "status=404") {
		t.Errorf("the page tried what its key may do:\n%s", log)
	}
}

func TestAReadKeyHasNoButtonsThatWouldBeRefused(t *testing.T) {
	ada := visit(t, withKeys(t), "/")
	ada.sees("dialog", "This service asks for a key")
	ada.fills("API key", readKey)
	ada.types(kb.Enter)
	ada.lists("Ada")
	for _, again := range []bool{false, true} {
		if again {
			ada.must(chromedp.Do(ada.ctx, chromedp.Reload()))
		}
		ada.sees("button", "Export")
		for _, name := range []string{"Add user", "Import", "Change Ada", "Delete Ada"} {
			ada.seesNo("button", name)
		}
		ada.seesNo("checkbox", "Select Ada")
	}
	ada.fills("Search names and emails", "nobody")
	ada.reads("No user matches")
}

func TestWithoutAKeyThePageSaysWhy(t *testing.T) {
	ada := visit(t, withKeys(t), "/")
	ada.sees("dialog", "This service asks for a key")
	ada.types(kb.Escape)
	ada.sees("alert", "")
	ada.reads("An API key is needed")
	ada.clicks("button", "Try again")
	ada.sees("dialog", "This service asks for a key")
}
