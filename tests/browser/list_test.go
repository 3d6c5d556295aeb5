//go:build browser

package browser

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp/kb"

	"users-api/tests/program"
)

func TestThePageShowsWhoIsThere(t *testing.T) {
	ada, p := visitWith(t, "Ada", "Ben", "Cleo")
	ada.reads("3 users", "ben@example.org")
	ada.open("/?order=asc").lists("Ada", "Ben", "Cleo")
	ada.expect("where a mail goes", on[string](ada, ada.sees("link", "ben@example.org"), `function() { return this.href; }`),
		"mailto:ben@example.org")

	created := p.List(t)[0].CreatedAt // is shown in the reader's zone
	utc, err := time.Parse(time.DateTime, created)
	program.Must(t, err)
	shown := evaluate[[]string](ada, `(({ textContent, title, dateTime, lang }) =>
		[textContent, title, dateTime, lang])(document.querySelector('tbody time'))`)
	there := utc.In(time.FixedZone("Kolkata", 5*3600+30*60))
	ada.expect("the day, its title, the machine's form of the time, and the language of all that", shown, []string{
		there.Format("2 Jan 2006"), there.Format("2 Jan 2006, 15:04") + " (" + created + " UTC)",
		utc.Format("2006-01-02T15:04:05.000Z"), "en-GB"})
}

func TestSearchFindsAsOneTypesAndTheAddressKeepsIt(t *testing.T) {
	p := start(t)
	p.Create(t, "Ada", "ada@example.org")
	p.Create(t, "Ben", "ben@example.org")
	p.Create(t, "Cleo", "cleo@adamant.example")
	ada := visit(t, p, "/")
	ada.lists("Cleo", "Ben", "Ada")
	ada.fills("Search names and emails", "ADA").lists("Cleo", "Ada")
	ada.reads("2 of 3 users match")
	ada.reloads().lists("Cleo", "Ada")
	ada.expect("the search after a reload", ada.value("Search names and emails"), "ADA")
	ada.fills("Search names and emails", "nobody <b>").reads("No user matches", "“nobody <b>”")
	ada.goesBack().lists("Cleo", "Ada")
	ada.fills("Search names and emails", "%").clicks("button", "Show everybody").lists("Cleo", "Ben", "Ada")
	ada.isAt("searchbox", "Search names and emails")
	ada.fills("Search names and emails", "  ").lists("Cleo", "Ben", "Ada")
	ada.seesNo("button", "Load the page again") // white space is no search that the service would refuse
}

// A list that takes 150 ms says that it is loading, and must not say so once it is there, while the users are counted.
func TestTheLastAnswerWinsAndAnEmptyListStaysUntilItIsCounted(t *testing.T) {
	ada, _ := visitWith(t, "Ada", "Ben")
	ada.holds(func() { ada.fills("Search names and emails", "b") }, func(fetch.EventRequestPaused) bool {
		ada.fills("Search names and emails", "ada").lists("Ada")
		return true
	}, &fetch.RequestPattern{URLPattern: "*q=b&*"})
	ada.reads("1 of 2 users match")
	ada.lists("Ada")
	ada.holds(func() { ada.fills("Search names and emails", "nobody") }, func(fetch.EventRequestPaused) bool {
		timer(ada, 200*time.Millisecond)
		ada.reads("No user matches")
		ada.expect("whether the list is dimmed", evaluate[string](ada, `document.querySelector('#list').ariaBusy`), "false")
		return true
	}, &fetch.RequestPattern{URLPattern: "*count=true*q=nobody*"})
	ada.reads("0 of 2 users match", "No user matches")
}

func TestEveryPageOfEveryOrderIsReached(t *testing.T) {
	p := start(t)
	all := create(t, p, 60)
	newest := slices.Clone(all)
	slices.Reverse(newest)
	for order, names := range map[string][]string{
		"?order=asc": all, "": newest, "?sort=name": all, "?sort=name&order=desc": newest, "?sort=created_at": all,
	} {
		ada := visit(t, p, "/"+order)
		pages := [][]string{names[:25], names[25:50], names[50:]}
		ada.shows(pages[0], "1–25 of 60")
		ada.clicks("button", "Next").shows(pages[1], "26–50 of 60")
		ada.clicks("button", "Next").shows(pages[2], "51–60 of 60")
		ada.reloads().shows(pages[2], "51–60 of 60")
		ada.clicks("button", "Previous").shows(pages[1], "26–50 of 60")
		address := evaluate[string](ada, `location.search`)
		ada.clicks("button", "Previous").shows(pages[0], "1–25 of 60")
		ada.goesBack()
		ada.goesBack().shows(pages[2], "51–60 of 60")
		ada.clicks("button", "First").shows(pages[0], "1–25 of 60")
		ben := visit(t, p, "/"+address) // a bookmark does not say how far into the list it leads
		ben.shows(pages[1], "25 of 60")
		ben.clicks("button", "Next").shows(pages[2], "51–60 of 60")
	}
}

func TestAPageTurnsOnceAndItsSizeIsRemembered(t *testing.T) {
	ada, names := listing(t, 125)
	ada.holds(func() { ada.clicks("button", "Next") }, func(fetch.EventRequestPaused) bool {
		ada.clicks("button", "Next") // while the page turns
		works := evaluate[string](ada, `document.querySelector('#next').ariaBusy`)
		ada.expect("whether the button shows that it works", works, "true")
		return true
	}, &fetch.RequestPattern{URLPattern: "*after=25*"})
	ada.shows(names[25:50], "26–50 of 125")
	ada.clicks("button", "Next").shows(names[50:75], "51–75 of 125")
	ada.chooses("Users on a page", "100").shows(names[50:], "51–125 of 125")
	ada.open("/?order=asc").shows(names[:100], "1–100 of 125")
	ada.chooses("Users on a page", "500").shows(names, "1–125 of 125") // and a smaller page can be chosen again
	ada.chooses("Users on a page", "25").shows(names[:25], "1–25 of 125")
}

func TestAHeaderSortsAndSaysSo(t *testing.T) {
	ada, _ := withFields(t, "department", body("Cleo", `,"department":"B"`), body("ada", `,"department":"c"`), body("Ben", ""))
	ada.lists("Ben", "ada", "Cleo")
	sorts := func(header string, want ...string) {
		t.Helper()
		ada.lists(want...)
		ada.expect("what is sorted", evaluate[string](ada, `[...document.querySelectorAll('[aria-sort]')].map(
			(th) => th.textContent + ' ' + th.ariaSort).join()`), header)
	}
	sorts("", "Ben", "ada", "Cleo")
	ada.clicks("button", "Name")
	sorts("Name ascending", "ada", "Ben", "Cleo")
	ada.clicks("button", "Name")
	sorts("Name descending", "Cleo", "Ben", "ada")
	ada.tabsTo("button", "Department")
	ada.types(kb.Enter)
	sorts("Department ascending", "Ben", "Cleo", "ada")
	ada.isAt("button", "Department")
	ada.reloads()
	sorts("Department ascending", "Ben", "Cleo", "ada")
	ada.goesBack()
	sorts("Name descending", "Cleo", "Ben", "ada")
	ada.look("light", 360, 740)
	ada.clicks("button", "Department")
	sorts("Department ascending", "Ben", "Cleo", "ada")
	ada.clicks("button", "Department")
	sorts("Department descending", "ada", "Cleo", "Ben")
	ada.clicks("button", "Department")
	sorts("", "Ben", "ada", "Cleo")
}

func TestFiltersAreChipsThatTakeThemAway(t *testing.T) {
	ada, _ := withFields(t, "department,room", body("Ada", `,"department":"Research"`),
		body("Ben", `,"department":"R & D","room":"7"`), body("Cleo", `,"department":""`), body("Dan", ""))
	all := []string{"Dan", "Cleo", "Ben", "Ada"}
	ada.lists(all...)
	ada.clicks("button", "Filter").chooses("Field", "department").clicks("button", "Show") // without a value
	ada.expect("what is suggested", evaluate[[]string](ada, `[...document.querySelector('#values').options].map(
		({ value }) => value)`), []string{"R & D", "Research"})
	ada.isAt("combobox", "Value")
	ada.types(kb.Escape).isAt("button", "Filter")
	for _, c := range []struct {
		field, condition, value, address, says string
		lists                                  []string
	}{
		{"department", "is", "R & D", "?department=R+%26+D", "1 of 4 users matches: Department is R & D", []string{"Ben"}},
		{"department", "is!", "R & D", "?department%21=R+%26+D", "3 of 4 users match: Department is not R & D",
			[]string{"Dan", "Cleo", "Ada"}},
		{"department", "empty", "", "?department=", "2 of 4 users match: Department is empty", []string{"Dan", "Cleo"}},
		{"department", "empty!", "", "?department%21=", "2 of 4 users match: Department has a value", []string{"Ben", "Ada"}},
		{"room", "is!", "7", "?room%21=7", "3 of 4 users match: Room is not 7", []string{"Dan", "Cleo", "Ada"}},
		{"name", "is", "Cleo", "?name=Cleo", "1 of 4 users matches: Name is Cleo", []string{"Cleo"}},
		{"created", "from", "2026-01-01", "?created_from=2025-12-31T18%3A30%3A00Z",
			"4 of 4 users match: Created on or after 1 Jan 2026", all},
	} {
		t.Run(c.says, func(t *testing.T) {
			ada := ada.in(t)
			ada.filters(c.field, c.condition, c.value).lists(c.lists...)
			ada.reads(c.says)
			ada.expect("the address", evaluate[string](ada, `location.search`), c.address)
			ada.reloads().lists(c.lists...)
			ada.reads(c.says)
			_, words, _ := strings.Cut(c.says, ": ")
			ada.expect("the title", evaluate[string](ada, `document.title`), words+" – Users")
			ada.fromMenu("Export")
			ada.expect("the lines of the export", strings.Count(ada.downloads(exactly), "\n"), 1+len(c.lists))
			ada.clicks("button", "Close").clicks("button", "Remove the filter "+words).lists(all...)
			ada.isAt("button", "Filter")
			ada.expect("the address without the filter", evaluate[string](ada, `location.search`), "")
		})
	}
	ada.open("/?department=Research&department=R+%26+D").lists("Ben", "Ada")
	ada.filters("created", "to", "2026-01-01")
	ada.reads("0 of 4 users match: Department is Research or R & D and Created before 1 Jan 2026")
	ada.clicks("button", "Remove the filter Created before 1 Jan 2026").lists("Ben", "Ada")
	ada.filters("created", "from", "2026-01-01")
	ada.reads("2 of 4 users match: Department is Research or R & D and Created on or after 1 Jan 2026")
	ada.fills("Search all fields", "ben").lists("Ben")
	ada.goesBack().lists("Ben", "Ada")
}

func TestAFilterThatFindsNobodyOffersTheSearch(t *testing.T) {
	ada, _ := withFields(t, "department", body("Ada", `,"department":"Vorstand"`), body("Ben", ""))
	ada.open("/?department=vorstand").reads("Department is vorstand", "In a filter, capitals and accents count.")
	ada.clicks("button", "Search for “vorstand” instead").lists("Ada")
	ada.isAt("searchbox", "Search all fields")
	ada.expect("the search", ada.value("Search all fields"), "vorstand")
	ada.open("/?department!=").lists("Ada")
	ada.open("/?department!=&name=").reads("No user matches")
	program.Forbid(t, ada.page(), "instead")
}

func TestWhichColumnsAreShownIsKeptInTheBrowser(t *testing.T) {
	ada, _ := withFields(t, "department,room", body("Ada", `,"department":"IT","room":"7"`))
	ada.sees("cell", "7")
	ada.clicks("button", "Menu").clicks("checkbox", "Room").seesNo("cell", "7")
	ada.seesNo("columnheader", "Room")
	ada.reloads().sees("cell", "IT")
	ada.seesNo("cell", "7")
	ada.clicks("button", "Menu").clicks("checkbox", "Room").sees("cell", "7")
	call(ada, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `
		for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(window, name, { get() { throw new Error(name); } })`})
	ada.reloads().lists("Ada") // where the browser keeps nothing
	ada.clicks("button", "Menu").clicks("checkbox", "Room").seesNo("cell", "7")
}

func TestTheSlashLeadsToTheSearch(t *testing.T) {
	ada, _ := visitWith(t, "Ada")
	const slash = `document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: '/', bubbles: true, cancelable: true }))`
	ada.expect("whether it is typed", evaluate[bool](ada, slash), false)
	ada.isAt("searchbox", "Search names and emails")
	ada.expect("whether it is typed there", evaluate[bool](ada, slash), true)
}

// On a page of 25, everybody is printed who is shown.
func TestPrintingHasEverybodyAndWhoTheyAre(t *testing.T) {
	p := start(t)
	names := create(t, p, 60)
	p.Change(t, 1, fmt.Sprintf(`{"email":"%s@example.org"}`, strings.Repeat("x", 200)))
	ada := visit(t, p, "/?sort=name&q=user")
	evaluate[any](ada, `window.print = () => { window.printed = document.querySelectorAll('#list tbody tr').length; }`)
	ada.shows(names[:25], "1–25 of 60")
	ada.fromMenu("Print")
	ada.until("the print", func() bool { return evaluate[float64](ada, `window.printed ?? 0`) == 60 })
	call(ada, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	ada.expect("what is on paper beside the rows", evaluate[string](ada, `[...document.querySelectorAll(
		'button, input, select, h1, #summary, thead th')].filter((part) => part.checkVisibility()).map((part) => part.innerText).join()`),
		"Users,60 of 60 users match,Name,Email,Created")
	ada.look("light", 680, 900) // a sheet of A4
	call(ada, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	ada.expect("whether all fits", evaluate[bool](ada, `document.scrollingElement.scrollWidth <= 680`), true)
	call(ada, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{})
	evaluate[any](ada, `dispatchEvent(new Event('afterprint'))`)
	ada.shows(names[:25], "1–25 of 60")
}

// shows waits until the list has exactly these names, and says which part of the whole they are.
func (p *person) shows(names []string, part string) {
	p.Helper()
	p.lists(names...)
	p.until(fmt.Sprintf("%q", part), func() bool {
		return evaluate[string](p, `document.querySelector('#pages:not([hidden]) #range').innerText`) == part
	})
}

// listing starts the program with n users, opens its page with the oldest first, and returns their names.
func listing(t *testing.T, n int) (ada *person, names []string) {
	t.Helper()
	p := start(t)
	names = create(t, p, n)
	ada = visit(t, p, "/?order=asc")
	ada.shows(names[:25], fmt.Sprint("1–25 of ", n))
	return ada, names
}

// create creates users and returns their names, oldest first.
func create(t *testing.T, p *program.Program, n int) (names []string) {
	t.Helper()
	for i := range n {
		names = append(names, fmt.Sprintf("User %03d", i))
		p.Create(t, names[i], fmt.Sprintf("user%d@example.org", i))
	}
	return names
}

func TestNamesNeverBecomeMarkup(t *testing.T) {
	p := start(t)
	names := []string{
		`<img src=x onerror="document.title='hit'">`, `<script>document.title='hit'</script>`, `</bdi></td><h1>big`,
		"\u202eright to left", `"><svg onload=alert(1)>`, `{{7*7}} ${7*7}`, "   ", strings.Repeat("long ", 5000),
		"null", "__proto__", "e\u0301 \U0001F469\u200D\U0001F680",
	}
	for i, name := range names {
		p.Create(t, name, fmt.Sprintf("%d@example.org", i))
	}
	slices.Reverse(names)
	ada := visit(t, p, "/")
	ada.lists(names...)
	ada.opens(`Change </bdi></td><h1>big`, "Change user")
	ada.types(kb.Escape)
	ada.opens(`Delete <script>document.title='hit'</script>`, "Delete this user?")
	ada.reads(`<script>document.title='hit'</script>`)
	ada.expect("names that became markup",
		evaluate[int](ada, `document.querySelectorAll('img, tbody script, tbody h1, svg[onload]').length`), 0)
	ada.expect("the title", evaluate[string](ada, `document.title`), "Users")
}

func TestTheServiceGoesAwayAndComesBack(t *testing.T) {
	ada, p := follows(t)
	ada.offline(true)
	ada.reads("You are offline")
	ada.offline(false)
	ada.seesNo("button", "Load the page again")
	ada.lists("Cleo", "Ben", "Ada")
	waiting(t, p, 1)
	p.Stop(t)
	p = restart(t, p, "ADMIN_PORT=0")
	p.Create(t, "Dan", "dan@example.org")
	ada.sees("button", news) // a restart is not noticed
	ada.lists("Cleo", "Ben", "Ada")
	p.Stop(t)
	ada.clicks("button", "Change Ada").reads("The service cannot be reached")
	ada.lists("Cleo", "Ben", "Ada") // what was read stays in sight
	restart(t, p)
	ada.clicks("button", "Load the page again").lists("Dan", "Cleo", "Ben", "Ada")
}
