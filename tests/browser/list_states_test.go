//go:build browser

package browser

import (
	"slices"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// offline takes the browser off the network, or puts it back.
func (p *person) offline(isOffline bool) {
	p.Helper()
	p.throttle(network.Conditions{Offline: isOffline, DownloadThroughput: -1, UploadThroughput: -1})
	call(p, network.OverrideNetworkState, network.OverrideNetworkStateParams{
		Offline: isOffline, DownloadThroughput: -1, UploadThroughput: -1,
	})
}

// slow limits how many bytes a second go up; -1 is as many as can.
func (p *person) slow(upload float64) {
	p.Helper()
	p.throttle(network.Conditions{DownloadThroughput: -1, UploadThroughput: upload})
}

func (p *person) throttle(conditions network.Conditions) {
	p.Helper()
	call(p, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{
		MatchedNetworkConditions: []*network.Conditions{&conditions},
	})
}

// The page says that it is loading when a list takes 150 ms, and must not say so after the list is there, while the users
// are counted.
func TestAnEmptyListStaysWhileTheUsersAreCounted(t *testing.T) {
	ada, _ := visitWith(t, "Ada")
	held := chromedp.Events(ada.ctx, fetch.RequestPaused)
	call(ada, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: "*count=true*"}}})
	ada.fills("Search names and emails", "nobody")
	for event, err := range held {
		ada.must(err)
		evaluate[bool](ada, `new Promise((resolve) => setTimeout(resolve, 200, true))`) // a timer of the page comes first
		ada.reads("No user matches")
		call(ada, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: event.RequestID})
		break
	}
	call(ada, fetch.Disable, cdp.Empty{})
	ada.reads("0 of 1 user match")
	ada.reads("No user matches")
}

// TestTheFirstListIsThereSoon measures within the page, so that the time of the browser's start does not count.
func TestTheFirstListIsThereSoon(t *testing.T) {
	p := start(t)
	create(t, p, 60)
	ada := visit(t, p, "/")
	call(ada, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `
		new MutationObserver(() => {
			if (!window.firstList && document.querySelector('tbody [role=row]')) window.firstList = performance.now();
		}).observe(document, { childList: true, subtree: true });`})
	var times []float64
	for range 5 {
		ada.open("/")
		ada.until("the list", func() bool { return len(ada.names()) == 50 })
		times = append(times, evaluate[float64](ada, `window.firstList`))
	}
	t.Logf("the first list is there after %.0f ms", times)
	if soonest := slices.Min(times); soonest > 500 {
		t.Errorf("the first list is there after %.0f ms at the soonest", soonest)
	}
}
