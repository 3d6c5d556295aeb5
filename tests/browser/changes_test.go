//go:build browser

package browser

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"users-api/tests/program"
)

// follows starts the program with a feed and Ada, Ben and Cleo in it, and opens its page.
func follows(t *testing.T) (*person, *program.Program) {
	t.Helper()
	p := start(t, "ADMIN_PORT=0")
	return visitAmong(t, p, "Ada", "Ben", "Cleo"), p
}

// waiting waits until so many pages wait for changes.
func waiting(t *testing.T, p *program.Program, n float64) {
	t.Helper()
	program.WaitFor(t, fmt.Sprint(n, " pages wait"), func() bool {
		return program.Scrape(t, p)["users_api_changes_followers"][""] == n
	})
}

// watch notes what a screen reader says of changes, and where the rows are.
const watch = `window.said = [];
	new MutationObserver(() => said.push(document.querySelector('.news').innerText)).observe(
		document.querySelector('.news'), { subtree: true, childList: true, attributes: true });
	window.places = () => [...document.querySelectorAll('#list, tbody tr, .tools *')].map((element) => {
		const { x, y, width, height } = element.getBoundingClientRect();
		return [x, y, width, height];
	}).join('; ')`

func places(p *person) string { return evaluate[string](p, `places()`) }

const news = "There are changes — show"

// What others write moves nothing, and is shown when the person asks for it.
func TestThePageSaysThatThereAreChangesAndShowsThemWhenAsked(t *testing.T) {
	for _, width := range []int64{1280, 360} {
		t.Run(fmt.Sprint(width, " wide"), func(t *testing.T) {
			ada, p := follows(t)
			ada.look("light", width, 740)
			ada.open("/?q=example").reads("3 of 3 users match")
			evaluate[any](ada, watch)
			before := places(ada)
			p.Create(t, "Dan", "dan@example.org")
			ada.sees("button", news)
			p.Change(t, 1, `{"name":"Augusta"}`)
			p.Delete(t, 2)
			ada.lists("Cleo", "Ben", "Ada")
			ada.expect("where everything is", places(ada), before)
			ada.expect("whether a screen reader says it",
				evaluate[bool](ada, `document.querySelector('#news').closest('[role=status]').checkVisibility()`), true)
			for _, scheme := range []string{"dark", "light"} {
				ada.look(scheme, width, 740)
				ada.fits(width)
			}
			if width == 1280 {
				ada.clicks("button", news)
			} else {
				ada.tabsTo("button", news).types(kb.Enter)
			}
			ada.lists("Dan", "Cleo", "Augusta")
			ada.seesNo("button", news)
			ada.isAt("region", "Users")
			ada.reads("3 of 3 users match")
			p.Create(t, "Eve", "eve@example.org")
			ada.sees("button", news)
		})
	}
}

// A search, an order and a page stay when changes are shown.
func TestShowingChangesStaysWhereThePersonIs(t *testing.T) {
	p := start(t)
	names := create(t, p, 60)
	ada := visit(t, p, "/?q=user&order=asc")
	ada.clicks("button", "Next").shows(names[25:50], "26–50 of 60")
	ada.clicks("checkbox", "Select User 026")
	address := evaluate[string](ada, `location.href`)
	p.Change(t, 31, `{"name":"User 030 is another"}`)
	ada.sees("button", news)
	ada.clicks("button", news).sees("button", "Change User 030 is another")
	ada.reads("1 selected", "26–50 of 60")
	ada.expect("the address", evaluate[string](ada, `location.href`), address)
}

// What the person writes is no news, neither while it is written, nor while the list is loaded, nor then.
func TestThePagesOwnWritesAreNoNews(t *testing.T) {
	ada, p := follows(t)
	evaluate[any](ada, watch)
	silent := func(when string) {
		t.Helper()
		timer(ada, 2*time.Second)
		ada.expect(when+" what the page says", evaluate[string](ada, `said.join('')`), "")
	}
	for _, write := range []struct {
		name, button string
		open         func()
	}{
		{"an addition", "Save", func() {
			ada.clicks("button", "Add user")
			ada.fills("Name", "Dan").fills("Email", "dan@example.org")
		}},
		{"a change", "Save", func() {
			ada.opens("Change Ada", "Change user").fills("Name", "Augusta")
		}},
		{"a deletion", "Delete", func() {
			ada.opens("Delete Ben", "Delete this user?")
		}},
	} {
		waiting(t, p, 1)
		write.open()
		ada.holds(func() { ada.clicks("button", write.button) }, func(event fetch.EventRequestPaused) bool {
			silent(fmt.Sprint("during ", write.name, ", before the answer to ", event.Request.Method, ","))
			return strings.Contains(event.Request.URL, "?")
		}, &fetch.RequestPattern{URLPattern: "*/api/users", RequestStage: fetch.RequestStageResponse},
			&fetch.RequestPattern{URLPattern: "*/api/users/*", RequestStage: fetch.RequestStageResponse},
			&fetch.RequestPattern{URLPattern: "*/api/users?order*"})
	}
	waiting(t, p, 1)
	silent("in the end")
	ada.lists("Dan", "Cleo", "Augusta")
}

// After a large import, and where the feed cannot go on, anything may have changed.
func TestWhatTheFeedCannotTellIsNews(t *testing.T) {
	ada, p := follows(t)
	waiting(t, p, 1)
	file := "name,email\n"
	for i := range 10_001 {
		file += fmt.Sprintf("n,%d\n", i)
	}
	p.Do(t, "POST", program.CSV, file).Expect(t, 200, `{"created":10001,…`)
	ada.clicks("button", news).reads("10,004 users")
	waiting(t, p, 1)
	p.Run(t, "changes", "restart").MustSucceed(t)
	ada.clicks("button", news).seesNo("button", news)
	waiting(t, p, 1)
}

// Where changes are not recorded the page asks for its list again, and where they no longer are, for nothing.
func TestWithoutAFeedThePageAsksForItsListAgain(t *testing.T) {
	p := start(t, "ADMIN_PORT=0", "CHANGES_KEEP=0")
	ada := visitAmong(t, p, "Ada")
	program.WaitFor(t, "an answer that nothing has changed", func() bool { return strings.Contains(p.Log(), "status=304") })
	ada.changes("Ada", "Name", "Augusta")
	ada.lists("Augusta")
	timer(ada, 6*time.Second) // one's own change is no news
	ada.seesNo("button", news)
	p.Change(t, 1, `{"name":"Ada"}`)
	ada.clicks("button", news).lists("Ada")
	program.Forbid(t, p.Log(), "route=/api/changes")
	p.Stop(t)
	p = restart(t, p, "ADMIN_PORT=0")
	ada.open("/").lists("Ada")
	waiting(t, p, 1)
	p.Stop(t)
	p = restart(t, p, "CHANGES_KEEP=0")
	refusals := func() int { return strings.Count(p.Log(), "status=404") }
	ada.until("a refusal", func() bool { return refusals() == 1 })
	timer(ada, 6*time.Second) // after a failure, the page asks again in 5 s
	ada.expect("the refusals", refusals(), 1)
	ada.clicks("button", "Name").lists("Ada")
}

// A key is sent as with each request. When the feed refuses it, the page asks the person for another one only for what the
// person does.
func TestThePageFollowsTheFeedWithAKey(t *testing.T) {
	p := withKeys(t)
	ada := visit(t, p, "/")
	ada.gives(readKey).lists("Ada")
	p.Do(t, http.MethodPost, "/api/users", program.Body("Ben", "ben@example.org"), "X-API-Key: "+writeKey)
	ada.clicks("button", news).lists("Ben", "Ada")
	p.Stop(t)
	again := restart(t, p, "API_KEY=another-"+writeKey)
	ada.until("a refusal", func() bool { return strings.Contains(again.Log(), "status=401") })
	timer(ada, 1*time.Second)
	ada.seesNo("dialog", "Enter your key")
	ada.clicks("button", "Name").sees("dialog", "Enter your key")
}

// restart starts the program again where it was.
func restart(t *testing.T, p *program.Program, settings ...string) *program.Program {
	t.Helper()
	return start(t, append(settings, "PORT="+p.URL[strings.LastIndexByte(p.URL, ':')+1:], "DATA_DIR="+p.DataDir)...)
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
		ben.open("/").lists("Cleo", "Ben", "Ada")
		waiting(t, p, 1)
	}
	p.Create(t, "Dan", "dan@example.org")
	ben.sees("button", news)
	program.Forbid(t, ada.page(), news)
	call(ada, page.BringToFront, cdp.Empty{})
	ada.sees("button", news)
}
