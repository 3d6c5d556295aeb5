//go:build browser

package browser

import (
	"fmt"
	"slices"

	"github.com/chromedp/cdproto/cdp"
)

// fills replaces what is in a field.
func (p *person) fills(name, text string) {
	p.Helper()
	id := p.field(name)
	on[bool](p, id, `function() { this.focus(); this.select(); return true; }`)
	if text == "" {
		p.types("\b")
	}
	p.types(text)
}

// field returns a field by its label.
func (p *person) field(name string) cdp.BackendNodeID {
	p.Helper()
	if found := p.find("searchbox", name); len(found) == 1 {
		return found[0]
	}
	return p.sees("textbox", name)
}

// value returns what is in a field.
func (p *person) value(name string) string {
	p.Helper()
	return on[string](p, p.field(name), `function() { return this.value; }`)
}

// chooses picks an option of a select.
func (p *person) chooses(name, value string) {
	p.Helper()
	on[bool](p, p.sees("combobox", name), `function() {
		this.focus();
		this.value = '`+value+`';
		return this.dispatchEvent(new Event('change', { bubbles: true }));
	}`)
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
		(row) => row.querySelectorAll('[role=cell]')[1].querySelector('bdi').textContent)`)
}

// lists waits until the list has exactly these names.
func (p *person) lists(names ...string) {
	p.Helper()
	p.until(fmt.Sprintf("the list %q", names), func() bool { return slices.Equal(p.names(), names) })
}
