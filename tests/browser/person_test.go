//go:build browser

package browser

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"users-api/tests/program"
)

// patience is how long a person waits for what must come. Nothing takes that long unless it fails.
const patience = 60 * time.Second

// person is somebody in front of a browser. A complaint of the browser fails the test. What the person does returns
// the person, so that one line has what is done and what is seen then.
type person struct {
	*testing.T
	ctx        context.Context
	origin     string
	mu         sync.Mutex
	complaints []string
}

// visit opens the program's page in a session of its own.
func visit(t *testing.T, p *program.Program, address string) *person {
	t.Helper()
	ctx, cancel := chromedp.NewContext(chromium, chromedp.WithNewBrowserContext())
	ctx, stop := context.WithTimeout(ctx, 10*time.Minute)
	who := &person{T: t, ctx: ctx, origin: p.URL}
	t.Cleanup(func() {
		stop()
		cancel()
		who.mu.Lock()
		defer who.mu.Unlock()
		if len(who.complaints) > 0 {
			t.Errorf("the browser complains:\n%s", strings.Join(who.complaints, "\n"))
		}
	})
	who.must(chromedp.Listen(ctx, who.listen))
	// Without movement, so that a click hits what it was aimed at. The zone is not UTC, so that a mix-up shows.
	who.look("light", 1280, 800)
	call(who, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Kolkata"})
	call(who, emulation.SetLocaleOverride, emulation.SetLocaleOverrideParams{Locale: "en-GB"})
	who.open(address)
	return who
}

// in is the same person in a test within the test.
func (p *person) in(t *testing.T) *person { return &person{T: t, ctx: p.ctx, origin: p.origin} }

func (p *person) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// call sends the browser a command.
func call[P, R any](p *person, command cdp.Command[P, R], parameters P) R {
	p.Helper()
	result, err := chromedp.Call(p.ctx, command, parameters)
	p.must(err)
	return result
}

// evaluate runs a script in the page.
func evaluate[T any](p *person, script string) T {
	p.Helper()
	value, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if isReplaced(err) {
		return evaluate[T](p, script)
	}
	p.must(err)
	return value
}

// isReplaced reports whether the page that was asked was just being replaced by another, which can be asked instead.
func isReplaced(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "Inspected target navigated") ||
		strings.Contains(err.Error(), "Cannot find context"))
}

// listen notes errors in the console and requests to other hosts. That the API refused something, or could not be
// reached, stands in the console whatever a page does.
func (p *person) listen(event any) {
	complaint := ""
	switch event := event.(type) {
	case *runtime.EventExceptionThrown:
		complaint = event.ExceptionDetails.Text
		if thrown := event.ExceptionDetails.Exception; thrown != nil && thrown.Description != "" {
			complaint += " " + thrown.Description
		}
	case *runtime.EventConsoleAPICalled:
		if event.Type == runtime.ConsoleAPICalledTypeError {
			complaint = fmt.Sprintf("console.error %s %s", event.Args[0].Value, event.Args[0].Description)
		}
	case *log.EventEntryAdded:
		away := strings.Contains(event.Entry.Text, "net::ERR_") // the icon too may be fetched when the service is gone
		api := event.Entry.Source == log.EntrySourceNetwork && (away || strings.Contains(event.Entry.URL, "/api/"))
		if event.Entry.Level == log.EntryLevelError && !api {
			complaint = event.Entry.Text + " " + event.Entry.URL
		}
	case *network.EventRequestWillBeSent:
		url := event.Request.URL
		if !strings.HasPrefix(url, p.origin) && !strings.HasPrefix(url, "blob:"+p.origin) && !strings.HasPrefix(url, "data:") {
			complaint = "a request to another host: " + url
		}
	}
	if complaint != "" {
		p.mu.Lock()
		p.complaints = append(p.complaints, complaint)
		p.mu.Unlock()
	}
}

func (p *person) open(address string) *person {
	p.Helper()
	p.must(chromedp.Do(p.ctx, chromedp.Navigate(p.origin+address)))
	return p
}

// look sets the colour scheme that the person prefers, and the size of the window.
func (p *person) look(scheme string, width, height int64) {
	p.Helper()
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
	p.must(chromedp.Do(p.ctx, chromedp.EmulateViewport(width, height)))
}

// until waits until something is so. A page has no event for most of what a person sees, so it looks again and again.
func (p *person) until(what string, isSo func() bool) {
	p.Helper()
	for end := time.Now().Add(patience); !isSo(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			p.Fatalf("waiting for %s; the page says:\n%s", what, p.page())
		}
	}
}

// page returns all text that the person sees.
func (p *person) page() string { return evaluate[string](p, `document.body?.innerText ?? ''`) }

// reads waits until the page says something, one after the other.
func (p *person) reads(texts ...string) {
	p.Helper()
	for _, text := range texts {
		p.until(fmt.Sprintf("%q", text), func() bool { return strings.Contains(p.page(), text) })
	}
}

// find returns what has a role and a name, as a screen reader finds it.
func (p *person) find(role, name string) (found []cdp.BackendNodeID) {
	p.Helper()
	document := evaluate[*runtime.RemoteObject](p, `document`)
	tree, err := chromedp.Call(p.ctx, accessibility.QueryAXTree, accessibility.QueryAXTreeParams{
		ObjectID: document.ObjectID, AccessibleName: name, Role: role,
	})
	if isReplaced(err) {
		return p.find(role, name)
	}
	p.must(err)
	for _, node := range tree.Nodes {
		if !node.Ignored {
			found = append(found, node.BackendDOMNodeID)
		}
	}
	return found
}

// sees waits for the one thing that has a role and a name.
func (p *person) sees(role, name string) (id cdp.BackendNodeID) {
	p.Helper()
	p.until(fmt.Sprintf("one %s %q", role, name), func() bool {
		found := p.find(role, name)
		if len(found) == 1 {
			id = found[0]
		}
		return len(found) == 1
	})
	return id
}

// seesNo waits until nothing has a role and a name.
func (p *person) seesNo(role, name string) {
	p.Helper()
	p.until(fmt.Sprintf("no %s %q", role, name), func() bool { return len(p.find(role, name)) == 0 })
}

// on calls a function of JavaScript on an element, as its this.
func on[T any](p *person, id cdp.BackendNodeID, function string) (value T) {
	p.Helper()
	object := call(p, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: id}).Object
	value, err := chromedp.Run(p.ctx, chromedp.CallFunctionOn[T](function,
		func(parameters *runtime.CallFunctionOnParams) { parameters.ObjectID = object.ObjectID }))
	p.must(err)
	return value
}

// clicks moves the mouse to something that stands still, and clicks. The page may replace it in between: then it is looked
// for again.
func (p *person) clicks(role, name string) *person {
	p.Helper()
	var quad dom.Quad
	p.until(fmt.Sprintf("a place of %s %q", role, name), func() bool {
		id := p.sees(role, name)
		_, err := chromedp.Call(p.ctx, dom.ScrollIntoViewIfNeeded, dom.ScrollIntoViewIfNeededParams{BackendNodeID: id})
		if err != nil && strings.Contains(err.Error(), "detached") {
			return false
		}
		p.must(err)
		quads := call(p, dom.GetContentQuads, dom.GetContentQuadsParams{BackendNodeID: id}).Quads
		if len(quads) == 0 {
			return false
		}
		isStill := slices.Equal(quads[0], quad) // an answer that arrives may move it
		quad = quads[0]
		return isStill
	})
	x, y := (quad[0]+quad[4])/2, (quad[1]+quad[5])/2
	for _, kind := range []input.DispatchMouseEventType{input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseReleased} {
		call(p, input.DispatchMouseEvent, input.DispatchMouseEventParams{
			Type: kind, X: x, Y: y, Button: input.MouseButtonLeft, ClickCount: 1,
		})
	}
	return p
}

// types presses keys, one after the other.
func (p *person) types(keys string) *person {
	p.Helper()
	p.must(chromedp.Do(p.ctx, chromedp.KeyEvent(keys)))
	return p
}

// opens clicks a button that opens a dialog.
func (p *person) opens(button, dialog string) *person {
	p.Helper()
	p.clicks("button", button).sees("dialog", dialog)
	return p
}

// fromMenu clicks a button of the menu.
func (p *person) fromMenu(button string) *person {
	p.Helper()
	return p.clicks("button", "Menu").clicks("button", button)
}

// filters shows the users who meet a condition.
func (p *person) filters(field, condition, value string) *person {
	p.Helper()
	p.clicks("button", "Filter").chooses("Field", field).chooses("Condition", condition)
	evaluate[string](p, fmt.Sprintf(`document.querySelector('#value').value = %q`, value))
	return p.clicks("button", "Show")
}

func (p *person) reloads() *person {
	p.Helper()
	p.must(chromedp.Do(p.ctx, chromedp.Reload()))
	return p
}

func (p *person) goesBack() *person {
	p.Helper()
	p.must(chromedp.Do(p.ctx, chromedp.NavigateBack()))
	return p
}

// gives enters a key in the dialog that asks for one.
func (p *person) gives(key string) *person {
	p.Helper()
	p.sees("dialog", "Enter your key")
	return p.fills("API key", key).types(kb.Enter)
}

// timer lets time pass in the page: the page's own timers of less come first.
func timer(p *person, time time.Duration) {
	p.Helper()
	evaluate[bool](p, fmt.Sprintf(`new Promise((resolve) => setTimeout(resolve, %d, true))`, time.Milliseconds()))
}

// holds keeps the requests that these patterns name, or the answers to them, from the moment before act. It calls
// during for each, and lets it go on, until during returns true.
func (p *person) holds(act func(), during func(fetch.EventRequestPaused) bool, patterns ...*fetch.RequestPattern) {
	p.Helper()
	held := chromedp.Events(p.ctx, fetch.RequestPaused)
	call(p, fetch.Enable, fetch.EnableParams{Patterns: patterns})
	act()
	for event, err := range held {
		p.must(err)
		isLast := during(event)
		_, _ = chromedp.Call(p.ctx, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: event.RequestID})
		if isLast { // and the page may have given the request up
			break
		}
	}
	call(p, fetch.Disable, cdp.Empty{})
}

// fills replaces what is in a field.
func (p *person) fills(name, text string) *person {
	p.Helper()
	id := p.field(name)
	on[bool](p, id, `function() { this.focus(); this.select(); return true; }`)
	if text == "" {
		p.types("\b")
	}
	p.types(text)
	return p
}

// field returns a field by its label.
func (p *person) field(name string) cdp.BackendNodeID {
	p.Helper()
	for _, role := range []string{"searchbox", "spinbutton", "Date"} {
		if found := p.find(role, name); len(found) == 1 {
			return found[0]
		}
	}
	return p.sees("textbox", name)
}

func (p *person) value(name string) string {
	p.Helper()
	return on[string](p, p.field(name), `function() { return this.value; }`)
}

// chooses picks an option of a select.
func (p *person) chooses(name, value string) *person {
	p.Helper()
	on[bool](p, p.sees("combobox", name), `function() {
		this.focus();
		this.value = '`+value+`';
		return this.dispatchEvent(new Event('change', { bubbles: true }));
	}`)
	return p
}

// isAt waits until the focus is on something.
func (p *person) isAt(role, name string) {
	p.Helper()
	p.until(fmt.Sprintf("the focus on %s %q", role, name), func() bool {
		found := p.find(role, name)
		return len(found) == 1 && on[bool](p, found[0], `function() { return this === document.activeElement; }`)
	})
}

// names returns the names in the list, from top to bottom.
func (p *person) names() []string {
	p.Helper()
	return evaluate[[]string](p, `[...document.querySelectorAll('main tbody [role=row]')].map(
		(row) => row.querySelector('[role=rowheader] bdi').textContent)`)
}

// lists waits until the list has exactly these names.
func (p *person) lists(names ...string) {
	p.Helper()
	p.until(fmt.Sprintf("the list %q", names), func() bool { return slices.Equal(p.names(), names) })
}

// offline takes the browser off the network, or puts it back.
func (p *person) offline(isOffline bool) {
	p.Helper()
	p.throttle(isOffline, -1)
	call(p, network.OverrideNetworkState, network.OverrideNetworkStateParams{
		Offline: isOffline, DownloadThroughput: -1, UploadThroughput: -1,
	})
}

// throttle limits how many bytes a second go up; -1 is as many as can.
func (p *person) throttle(isOffline bool, upload float64) {
	p.Helper()
	call(p, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{
		MatchedNetworkConditions: []*network.Conditions{
			{Offline: isOffline, DownloadThroughput: -1, UploadThroughput: upload}},
	})
}

// fits fails the test if the page scrolls sideways, or for what axe-core finds.
func (p *person) fits(width int64) {
	p.Helper()
	p.check()
	script := fmt.Sprintf(`document.scrollingElement.scrollWidth <= %d`, width)
	p.expect("whether the page fits into its width", evaluate[bool](p, script), true)
}

// check fails for what axe-core finds.
func (p *person) check() {
	p.Helper()
	if os.Getenv("AXE") == "" {
		p.Log("nothing is checked: AXE must name axe.min.js of npm's axe-core")
		return
	}
	source, err := os.ReadFile(os.Getenv("AXE"))
	p.must(err)
	found := evaluate[[]string](p, string(source)+`;axe.run().then(({ violations }) => violations.flatMap(
		({ id, help, nodes }) => nodes.map((node) => id + ': ' + help + ': ' + node.html + ' ' + node.failureSummary)))`)
	p.expect("what axe finds", strings.Join(found, "\n"), "")
}

// expect fails the test unless something is as it should be. A number in the page is as one in the test.
func (p *person) expect(what string, got, want any) {
	p.Helper()
	program.Expect(p, what, got, want)
}
