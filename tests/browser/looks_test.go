//go:build browser

package browser

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// states are what a person comes across, and how to get there.
var states = []struct {
	name string
	open func(*person)
}{
	{"the list", func(p *person) { p.reads("3 users") }},
	{"some selected", func(p *person) { p.clicks("checkbox", "Select Ada Lovelace"); p.reads("1 user selected") }},
	{"no match", func(p *person) { p.open("/?q=nobody"); p.reads("No user matches") }},
	{"adding", func(p *person) { p.clicks("button", "Add user"); p.sees("dialog", "Add user") }},
	{"refused", func(p *person) {
		p.clicks("button", "Add user")
		p.clicks("button", "Save")
		p.describes("Name", required)
	}},
	{"changing", func(p *person) { p.clicks("button", "Change Ada Lovelace"); p.sees("dialog", "Change user") }},
	{"deleting", func(p *person) { p.clicks("button", "Delete Ada Lovelace"); p.sees("dialog", "Delete this user?") }},
	{"importing", func(p *person) {
		p.clicks("button", "Import")
		p.picks(file(p.T, "people.csv", "name,email\n,x@example.org\n"))
		p.reads("Why it is refused")
	}},
	{"exporting", func(p *person) {
		p.open("/?q=ada")
		p.reads("1 of 3 users match")
		p.clicks("button", "Export")
		p.sees("dialog", "Export users")
	}},
}

func TestNoStateHasAnAccessibilityViolationOrScrollsSideways(t *testing.T) {
	p := start(t)
	people(t, p)
	ada := visit(t, p, "/")
	for _, state := range states {
		for _, look := range []struct {
			scheme        string
			width, height int64
		}{{"light", 1280, 800}, {"dark", 1280, 800}, {"light", 360, 740}, {"dark", 360, 740}} {
			t.Run(fmt.Sprintf("%s, %s, %d wide", state.name, look.scheme, look.width), func(t *testing.T) {
				who := &person{T: t, ctx: ada.ctx, origin: ada.origin}
				who.look(look.scheme, look.width, look.height)
				who.open("/")
				who.reads("3 users")
				state.open(who)
				who.check()
				if wide := evaluate[int64](who, `document.scrollingElement.scrollWidth`); wide > look.width {
					t.Errorf("the page is %d wide", wide)
				}
			})
		}
	}
}

// What can be used must not look disabled, as soft text and boxes filled with grey do.
func TestControlsThatCanBeUsedLookEnabled(t *testing.T) {
	ada := visit(t, start(t), "/")
	ada.reads("No users yet")
	for _, scheme := range []string{"light", "dark"} {
		ada.look(scheme, 1120, 640)
		if !evaluate[bool](ada, `['#nobody [data-open=import]', '.tools [data-open=import]'].every((selector) =>
			getComputedStyle(document.querySelector(selector)).color === getComputedStyle(document.body).color)`) {
			t.Errorf("%s: Import looks disabled", scheme)
		}
		if !evaluate[bool](ada, `['#all', '#spreadsheet', '[name=conflict][value=skip]'].every((selector) => {
			const box = getComputedStyle(document.querySelector(selector));
			return box.appearance === 'none' &&
				box.backgroundColor === getComputedStyle(document.querySelector('.card')).backgroundColor;
		})`) {
			t.Errorf("%s: boxes look disabled", scheme)
		}
	}
}

func TestOnAPhoneEmailsBreakBeforeTheAtOrNotAtAll(t *testing.T) {
	p := start(t)
	p.Create(t, "Ada", "ada@example.org")
	p.Create(t, "Ben", "somebody.with.a.long.name@department.example.org")
	p.Create(t, "Cleo", strings.Repeat("l", 70)+"@"+strings.Repeat("d", 70))
	p.Create(t, "Dan", "no address")
	ada := visit(t, p, "/")
	ada.look("light", 360, 740)
	ada.lists("Dan", "Cleo", "Ben", "Ada")
	got := evaluate[string](ada, `[...document.querySelectorAll('.email bdi')].map((email) => {
		const parts = [...email.children].filter((part) => part.textContent !== '');
		const lines = new Set(parts.map((part) => part.getBoundingClientRect().top));
		return lines.size + (parts.every((part) => part.getClientRects().length === 1 && part.offsetHeight < 30) ? '' : '!');
	}).join(' ')`)
	if got != "1 2 2 1" {
		t.Errorf("the emails have %s lines", got)
	}
	ada.reads("somebody.with.a.long.name@department.example.org") // and can be copied as a whole
	if width := evaluate[float64](ada, `document.querySelector('#all + span').getBoundingClientRect().width`); width < 50 {
		t.Errorf("the label of the box that selects all is %.0f pixels wide", width)
	}
}

func TestTheDialogsOfConflictAndKeyHaveNoAccessibilityViolation(t *testing.T) {
	p := start(t)
	id := p.Create(t, "Ada", "ada@example.org")
	ada := visit(t, p, "/")
	ada.clicks("button", "Change Ada")
	ada.sees("dialog", "Change user")
	ada.fills("Name", "Mine")
	patch(t, p, id, `{"name":"Theirs"}`)
	ada.clicks("button", "Save")
	ada.sees("dialog", "Somebody else changed this user")
	ada.check()
	ada.look("dark", 360, 740)
	ada.check()
	ben := visit(t, withKeys(t), "/")
	ben.sees("dialog", "This service asks for a key")
	ben.check()
}

// check fails for what axe-core finds.
func (p *person) check() {
	p.Helper()
	source, err := os.ReadFile(os.Getenv("AXE"))
	if err != nil {
		p.Skip("AXE must name axe.min.js: npm install axe-core")
	}
	found := evaluate[[]string](p, string(source)+`;axe.run().then(({ violations }) => violations.flatMap(
		({ id, help, nodes }) => nodes.map((node) => id + ': ' + help + ': ' + node.html + ' ' + node.failureSummary)))`)
	if len(found) > 0 {
		p.Errorf("axe finds:\n%s", strings.Join(found, "\n"))
	}
}
