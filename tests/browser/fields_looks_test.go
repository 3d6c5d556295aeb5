//go:build browser

package browser

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// manyFields are the names of n fields, and a user with values of every kind in them.
func manyFields(n int) (names, user string) {
	values := []string{`"+44 20 7946 0958"`, `null`, `"` + strings.Repeat("x", 1000) + `"`, `"مرحبا بالعالم"`, `"one\ntwo\nthree\nfour"`, `""`}
	user = `{"name":"Ada","email":"ada@example.org"`
	for i := range n {
		name := fmt.Sprintf("field_%d", i+1)
		names += "," + name
		user += `,"` + name + `":` + values[i%len(values)]
	}
	return strings.TrimPrefix(names, ","), user + "}"
}

func TestAnyNumberOfFieldsFits(t *testing.T) {
	for _, n := range []int{1, 2, 8, 32} {
		names, user := manyFields(n)
		ada, _ := withFields(t, names, user, `{"name":"שרה","email":"sara@example.org"}`)
		for _, look := range append(looks, look{"dark", 800}) {
			t.Run(fmt.Sprintf("%d fields, %s, %d wide", n, look.scheme, look.width), func(t *testing.T) {
				who := ada.in(t)
				who.look(look.scheme, look.width, 740)
				who.open("/")
				who.reads("2 users")
				who.fits(look.width)
				who.clicks("button", "Change Ada")
				who.sees("dialog", "Change user")
				if !evaluate[bool](who, `document.querySelector('#user .primary').getBoundingClientRect().bottom < innerHeight`) {
					t.Error("the button that saves is out of view")
				}
				who.fits(look.width)
				who.clicks("button", "Cancel")
			})
		}
	}
}

func TestWhatIsCutHasATooltip(t *testing.T) {
	long := strings.Repeat("long ", 100)
	email := strings.Repeat("x", 300) + "@example.org"
	ada, _ := withFields(t, "room", `{"name":"`+long+`","email":"`+email+`","room":"`+long+`"}`)
	for _, look := range looks {
		ada.look(look.scheme, look.width, 740)
		ada.open("/")
		ada.lists(long)
		if cut := evaluate[string](ada, `[...document.querySelectorAll('tbody :is(bdi, td[data-field], .email span)')].filter(
			({ scrollWidth, clientWidth, scrollHeight, clientHeight }) => scrollWidth > clientWidth || scrollHeight > clientHeight).map(
			(element) => [element.closest('td').className || 'room', (element.closest('[title]') ?? element.querySelector('[title]'))?.title
				.includes(element.innerText)]).join('; ')`); cut != "name,true; email,true; room,true" {
			t.Errorf("%d wide, these are cut and have a tooltip: %s", look.width, cut)
		}
	}
	ada.clicks("button", "Delete "+long[:60]+"…")
	ada.sees("dialog", "Delete this user?")
	if got := evaluate[string](ada, `document.querySelector('#delete li bdi').title`); got != long {
		t.Errorf("in the dialog the name has the tooltip %q", got)
	}
}

// fits fails the test if the page scrolls sideways, or for what axe-core finds.
func (p *person) fits(width int64) {
	p.Helper()
	p.check()
	if wide := evaluate[int64](p, `document.scrollingElement.scrollWidth`); wide > width {
		p.Errorf("the page is %d wide in a window of %d", wide, width)
	}
}

func TestColumnsThatDoNotFitScrollBesideTheName(t *testing.T) {
	names, user := manyFields(8)
	ada, _ := withFields(t, names, user)
	ada.lists("Ada")
	ada.look("light", 800, 740)
	ada.tabsTo("region", "Users")
	ada.types(strings.Repeat(kb.ArrowRight, 20))
	ada.until("the columns to scroll", func() bool {
		return evaluate[float64](ada, `document.querySelector('#list').scrollLeft`) > 200
	})
	if !evaluate[bool](ada, `['.name', '.row-actions'].every((cell) => {
		const frame = document.querySelector('#list').getBoundingClientRect();
		const { left, right } = document.querySelector('#list ' + cell).getBoundingClientRect();
		return left >= frame.left && right <= frame.right;
	})`) {
		t.Error("the name or the buttons are out of view")
	}
	ada.clicks("button", "Delete Ada")
	ada.sees("dialog", "Delete this user?")
	if n := evaluate[int](ada, `document.querySelectorAll('#delete .people li > *').length`); n != 5 {
		t.Errorf("%d values of a user who would be deleted are shown", n)
	}
}

// The last row would look higher with a scrollbar below it that is of the same ground.
func TestTheLastRowLooksAsHighAsTheOthers(t *testing.T) {
	names, user := manyFields(1)
	ada, _ := withFields(t, names, user, strings.ReplaceAll(user, "ada@", "ada.king@"), strings.ReplaceAll(user, "ada@", "augusta@"))
	for _, look := range looks {
		ada.look(look.scheme, look.width, 740)
		ada.open("/")
		ada.reads("3 users")
		if bottoms := evaluate[[]string](ada, `(({ rows, parentElement: { parentElement: list } }) => {
			const track = getComputedStyle(list).scrollbarColor.match(/rgb[^)]*\)/g)?.[1];
			const same = rows[1].offsetHeight === rows[2].offsetHeight && list.scrollHeight === list.firstElementChild.offsetHeight;
			const apart = [getComputedStyle(list).backgroundColor, undefined].includes(track) ? 'the ground of the card' : 'apart';
			return [same ? 'as high' : 'higher', innerWidth > 704 ? apart : 'apart'];
		})(document.querySelector('#list tbody'))`); !slices.Equal(bottoms, []string{"as high", "apart"}) {
			t.Errorf("%s, %d wide: the last row is %s, and below it the scrollbar is %s", look.scheme, look.width, bottoms[0], bottoms[1])
		}
	}
}

func TestALongFormShowsTheFieldAndTheErrorThatMatter(t *testing.T) {
	names, user := manyFields(32)
	ada, _ := withFields(t, names, user)
	ada.clicks("button", "Change Ada")
	ada.sees("dialog", "Change user")
	for range 33 {
		ada.types(kb.Tab)
		if hidden := evaluate[string](ada, `((field) => field.getBoundingClientRect().bottom >
			document.querySelector('#user .actions').getBoundingClientRect().top ? field.id : '')(document.activeElement)`); hidden != "" {
			t.Errorf("the buttons hide %s", hidden)
		}
	}
	ada.offline(true)
	ada.types(kb.Enter)
	ada.reads("You are offline")
	if top := evaluate[float64](ada, `document.querySelector('#user .error').getBoundingClientRect().top`); top < 0 {
		t.Errorf("the error is at %.0f", top)
	}
	ada.offline(false)
}
