//go:build browser

package browser

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"users-api/tests/program"
)

// While others write all the time, the page asks now and then.
func TestManyWritesAreFewRequests(t *testing.T) {
	ada, p := follows(t)
	waiting(t, p, 1)
	create(t, p, 200)
	ada.sees("button", "200 changes — show")
	if n := strings.Count(p.Log(), "route=/api/changes"); n > 3 {
		t.Errorf("the page asked %d times", n)
	}
}

// Where changes are not recorded the page asks for none, and where they no longer are, not again.
func TestWithoutAFeedThePageAsksForNothing(t *testing.T) {
	p := start(t, "ADMIN_PORT=0")
	p.Create(t, "Ada", "ada@example.org")
	ada := visit(t, p, "/")
	ada.lists("Ada")
	timer(ada, 2)
	if log := p.Log(); strings.Contains(log, "route=/api/changes") {
		t.Errorf("the page asked for changes:\n%s", log)
	}
	p.RecordChanges(t)
	ada.open("/")
	ada.lists("Ada")
	waiting(t, p, 1)
	refusals := func() int { return strings.Count(p.Log(), "status=404") }
	before := refusals()
	p.Run(t, "changes", "off").MustSucceed(t)
	ada.until("a refusal", func() bool { return refusals() == before+1 })
	timer(ada, 6) // after a failure, the page asks again in 5 s
	if n := refusals(); n > before+1 {
		t.Errorf("the page was refused %d times", n-before)
	}
	ada.chooses("Order", "asc")
	ada.lists("Ada")
}

// A key is sent as with each request. When the feed refuses it, the page asks the person for another one only for what the
// person does.
func TestThePageFollowsTheFeedWithAKey(t *testing.T) {
	p := withKeys(t)
	p.RecordChanges(t, "X-API-Key: "+writeKey)
	ada := visit(t, p, "/")
	ada.sees("dialog", "This service asks for a key")
	ada.fills("API key", readKey)
	ada.types(kb.Enter)
	ada.lists("Ada")
	p.Do(t, http.MethodPost, "/api/users", program.Body("Ben", "ben@example.org"), "X-API-Key: "+writeKey)
	ada.clicks("button", "1 change — show")
	ada.lists("Ben", "Ada")
	p.Stop(t)
	again := restart(t, p, "API_KEY=another-"+writeKey)
	ada.until("a refusal", func() bool { return strings.Contains(again.Log(), "status=401") })
	timer(ada, 1)
	ada.seesNo("dialog", "This service asks for a key")
	ada.chooses("Order", "asc")
	ada.sees("dialog", "This service asks for a key")
}

// restart starts the program again where it was.
func restart(t *testing.T, p *program.Program, settings ...string) *program.Program {
	t.Helper()
	return start(t, append(settings, "PORT="+p.URL[strings.LastIndexByte(p.URL, ':')+1:], "DATA_DIR="+p.DataDir)...)
}

// A restart is not noticed, and the page goes on where it was.
func TestThePageGoesOnAfterARestart(t *testing.T) {
	ada, p := follows(t)
	waiting(t, p, 1)
	p.Stop(t)
	again := restart(t, p)
	again.Create(t, "Dan", "dan@example.org")
	ada.sees("button", "1 change — show")
	ada.seesNo("button", "Try again")
	ada.lists("Cleo", "Ben", "Ada")
}

// A tab that is not seen gives its place back at once, and goes on when it is seen again.
func TestAHiddenTabWaitsForNothing(t *testing.T) {
	ada, p := follows(t)
	waiting(t, p, 1)
	var ben *person
	var closes context.CancelFunc
	for range 7 { // more than a browser has connections to a service
		ben = &person{T: t, origin: p.URL}
		ben.ctx, closes = chromedp.NewContext(ada.ctx, chromedp.WithNewWindow(false))
		defer closes()
		ben.open("/")
		ben.lists("Cleo", "Ben", "Ada")
		waiting(t, p, 1)
	}
	p.Create(t, "Dan", "dan@example.org")
	ben.sees("button", "1 change — show")
	if text := ada.page(); strings.Contains(text, "change — show") {
		t.Errorf("a hidden tab says %s", text)
	}
	call(ada, page.BringToFront, cdp.Empty{})
	ada.sees("button", "1 change — show")
}

// A service that has no place for one more is asked later, and the page says nothing.
func TestAPageWithoutAPlaceToWaitStaysQuiet(t *testing.T) {
	p := start(t, "ADMIN_PORT=0")
	p.RecordChanges(t)
	next := p.Do(t, http.MethodGet, "/api/users", "").Header.Get("Changes-Cursor")
	leave := make([]func() error, 64)
	for i := range leave {
		client := p.Dial(t)
		client.Send("GET /api/changes?wait=60&after=%s HTTP/1.1\r\nHost: x\r\n\r\n", next)
		leave[i] = client.Close
	}
	waiting(t, p, 64)
	ada := visit(t, p, "/")
	ada.reads("No users yet")
	ada.until("a refusal", func() bool { return strings.Contains(p.Log(), "status=503") })
	ada.seesNo("button", "Try again")
	_, _ = leave[0](), leave[1]()
	waiting(t, p, 62)
	waiting(t, p, 63)
	if n := strings.Count(p.Log(), "status=503"); n > 2 {
		t.Errorf("the page was refused %d times", n)
	}
	p.Create(t, "Ada", "ada@example.org")
	ada.clicks("button", "1 change — show")
	ada.lists("Ada")
}
