//go:build browser

package browser

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"users-api/tests/program"
)

// states are what a person comes across, and how to get there.
var states = []struct {
	name string
	open func(*person)
}{
	{"the list", func(p *person) { p.reads("3 users") }},
	{"changing", func(p *person) { p.opens("Change Ada Lovelace", "Change user") }},
	{"some selected", func(p *person) { p.clicks("checkbox", "Select Ada Lovelace").reads("1 selected") }},
	{"no match", func(p *person) { p.open("/?q=nobody").reads("No user matches") }},
	{"the menu", func(p *person) { p.clicks("button", "Menu").sees("checkbox", "Created") }},
	{"a new filter", func(p *person) { p.clicks("button", "Filter").chooses("Field", "created").sees("button", "Show") }},
	{"a filter that finds nobody", func(p *person) { p.open("/?name=ADA&created_to=2026-01-01").reads("capitals and accents count") }},
	{"adding", func(p *person) { p.opens("Add user", "Add user") }},
	{"refused", func(p *person) {
		p.clicks("button", "Add user")
		p.clicks("button", "Save").describes("Name", required)
	}},
	{"deleting", func(p *person) { p.opens("Delete Ada Lovelace", "Delete this user?") }},
	{"changed", func(p *person) {
		p.changes("Émilie du Châtelet", "Email", fmt.Sprint(time.Now().UnixNano(), "@example.org"))
		p.sees("button", "Undo")
		p.until("the list", func() bool { return evaluate[string](p, `document.querySelector('#list').ariaBusy`) == "false" })
	}},
	{"a history", func(p *person) {
		evaluate[any](p, `location.hash = '#user=2&history'`)
		p.reads("@example.org → ", "Added")
	}},
	{"who was deleted", func(p *person) { p.fromMenu("Deleted").sees("checkbox", "Select Gone") }},
	{"importing", func(p *person) {
		p.imports("people.csv", "name,email\n,x@example.org\n").reads("Why it is refused")
	}},
	{"exporting", func(p *person) {
		p.open("/?q=ada").reads("1 of 3 users match")
		p.fromMenu("Export").sees("dialog", "Export users")
	}},
}

// fieldStates are those that there are only with fields.
var fieldStates = []struct {
	name string
	open func(*person)
}{
	{"filtered", func(p *person) { p.open("/?sort=email&field_1=").reads("2 of 3 users match") }},
	{"setting a field", func(p *person) {
		p.clicks("checkbox", "Select Ada Lovelace")
		p.opens("Set a field", "Set a field of 1 user")
	}},
}

// A look is a colour scheme and a width of the window.
type look struct {
	scheme string
	width  int64
}

var looks = []look{{"light", 1280}, {"dark", 1280}, {"light", 360}, {"dark", 360}}

// manyFields are the names of n fields, and values of every kind for a user.
func manyFields(n int) (names, values string) {
	kinds := []string{`"+44 20 7946 0958"`, `null`, `"` + strings.Repeat("x", 1000) + `"`, `"مرحبا بالعالم"`,
		`"one\ntwo\nthree\nfour"`, `""`}
	for i := range n {
		name := fmt.Sprintf("field_%d", i+1)
		names += "," + name
		values += `,"` + name + `":` + kinds[i%len(kinds)]
	}
	return strings.TrimPrefix(names, ","), values
}

// With fields, what matters is that a list and a form, which are the first states, have room for them.
func TestNoStateHasAnAccessibilityViolationOrScrollsSideways(t *testing.T) {
	for _, n := range []int{0, 1, 32} {
		names, values := manyFields(n)
		ada, p := withFields(t, names, body("Ada Lovelace", values), body("Émilie du Châtelet", ""), body("שרה", ""), body("Gone", ""))
		p.Delete(t, 4)
		opened, seen := states, looks
		if n > 0 {
			opened, seen = slices.Concat(states[:2], fieldStates), append(seen, look{"dark", 800})
		}
		for _, state := range opened {
			for _, look := range seen {
				name := fmt.Sprintf("%s, %d fields, %s, %d wide", state.name, n, look.scheme, look.width)
				t.Run(name, func(t *testing.T) {
					who := ada.in(t)
					who.look(look.scheme, look.width, 740)
					who.open("/").reads("3 users")
					state.open(who)
					who.fits(look.width)
					who.expect("whether the button that saves is in view", evaluate[bool](who, `[
						...document.querySelectorAll('#user[open] .primary')].every(
						(button) => button.getBoundingClientRect().bottom < innerHeight)`), true)
				})
			}
		}
	}
}

// The users are what the page is for. Three more fields are usual.
func TestManyPeopleAreInView(t *testing.T) {
	p := start(t, "USER_FIELDS=phone,department,room")
	p.Do(t, http.MethodPost, program.CSV, "name,email,phone,department,room\n"+
		"Ada King,ada.king.of.lovelace@example.org,+44 (0)20 7946 0958,Analytical Engines,1815\n"+moreOfThem(60)).Expect(t, 200, "…")
	ada := visit(t, p, "/")
	for _, c := range []struct{ width, height, least int64 }{{1280, 800, 9}, {1024, 800, 9}, {390, 740, 6}} {
		ada.look("light", c.width, c.height)
		ada.open("/?order=asc&phone!=").reads("61 of 61 users match")
		ada.fits(c.width)
		rows := evaluate[int64](ada, `[...document.querySelectorAll('#list tbody tr')].filter(
			(row) => row.getBoundingClientRect().bottom <= innerHeight).length`)
		if rows < c.least {
			t.Errorf("of %d by %d pixels there is room for %d people", c.width, c.height, rows)
		}
		ada.expect("whether the list scrolls sideways",
			evaluate[bool](ada, `((list) => list.scrollWidth > list.clientWidth)(document.querySelector('#list'))`), false)
		ada.expect("emails and phones that are cut", evaluate[int](ada, `[...document.querySelectorAll(
			'#list tbody :is(.email, [data-kind=tel], [data-kind=tel] bdi)')].filter(({ scrollWidth, clientWidth, scrollHeight, clientHeight }) => (
			scrollWidth > clientWidth || scrollHeight > clientHeight)).length`), 0)
		const columns = `[...document.querySelectorAll('#list tbody tr:first-child > *')].map(
			(cell) => cell.getBoundingClientRect().x).join()`
		if c.width > 1000 {
			ada.expect("what the buttons of a row cover", evaluate[string](ada, `(({ left }) => [...document.querySelectorAll(
				'#list tbody [data-column]')].find((cell) => cell.getBoundingClientRect().right > left)?.dataset.column)(
				document.querySelector('#list tbody .row-actions').getBoundingClientRect()) ?? ''`), "")
			before := evaluate[string](ada, columns)
			ada.clicks("button", "Next").reads("26–50 of 61")
			ada.expect("where the columns of the next page are", evaluate[string](ada, columns), before)
		}
		ada.expect("targets that are too small for a finger", evaluate[string](ada, `[...document.querySelectorAll(
			'#list tbody :is(label, button, td a)')].map((target) => target.getBoundingClientRect()).filter(
			({ width, height }) => width < 24 || height < 24 && innerWidth < 700).map(
			({ width, height }) => width + 'x' + height).join()`), "")
	}
	ada.expect("the size of the inputs", evaluate[string](ada, `[...new Set([...document.querySelectorAll(
		'input:not([type=checkbox])')].map((input) => getComputedStyle(input).fontSize))].join()`), "16px")
	ada.expect("where a call goes, and what the form's keyboard is", evaluate[[]string](ada, `[
		document.querySelector('[data-column=phone] a').href, document.querySelector('#field-phone').type]`),
		[]string{"tel:+442079460958", "tel"})
}

func moreOfThem(n int) (text string) {
	for i := range n {
		text += fmt.Sprintf("%s,user%d@example.org,%d,%s,\n", strings.Repeat("Long ", i%9+1), i, 1000+i, strings.Repeat("x", i))
	}
	return text
}

func TestPictures(t *testing.T) {
	if !*pictures {
		t.Skip("-pictures writes the pictures of README")
	}
	p := start(t, "USER_FIELDS=phone,department")
	departments := []string{"Research", "Engineering", "Teaching"}
	for i, name := range strings.Split("Tim Berners-Lee,Radia Perlman,Edsger Dijkstra,Barbara Liskov,Donald Knuth,"+
		"Frances Allen,Dennis Ritchie,Margaret Hamilton,Alan Turing,Grace Hopper,Charles Babbage,Ada Lovelace", ",") {
		const user = `{"name":%q,"email":"%s@example.org","phone":"+44 20 7946 0%d","department":%q}`
		email := strings.ToLower(strings.ReplaceAll(name, " ", "."))
		p.Do(t, http.MethodPost, "/api/users", fmt.Sprintf(user, name, email, 958-7*i, departments[i%3])).Expect(t, 201, "…")
	}
	ada := visit(t, p, "/")
	for scheme, path := range map[string]string{"light": "../../docs/page.png", "dark": "../../docs/page-dark.png"} {
		ada.look(scheme, 1120, 640)
		ada.open("/?sort=name").reads("12 users")
		picture, err := chromedp.Run(ada.ctx, chromedp.CaptureScreenshot())
		ada.must(err)
		ada.must(os.WriteFile(path, picture, 0o644))
	}
}
