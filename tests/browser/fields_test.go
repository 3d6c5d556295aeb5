//go:build browser

package browser

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// withPhone starts the program with a phone for each user, and creates Ada.
func withPhone(t *testing.T, ada string) *person {
	t.Helper()
	p := start(t, "USER_FIELDS=phone")
	response, err := http.Post(p.URL+"/api/users", "application/json", strings.NewReader(ada))
	if err != nil || response.StatusCode != http.StatusCreated {
		t.Fatalf("creating Ada: %v, %v", response, err)
	}
	return visit(t, p, "/")
}

// has waits until the API shows a part of the JSON of a user.
func (p *person) has(path, part string) {
	p.Helper()
	p.until(path+" to have "+part, func() bool {
		response, err := http.Get(p.origin + path)
		p.must(err)
		defer response.Body.Close() //nolint:errcheck // it was only read
		text, err := io.ReadAll(response.Body)
		p.must(err)
		return strings.Contains(string(text), part)
	})
}

func TestThePageHasAnOptionalField(t *testing.T) {
	ada := withPhone(t, `{"name":"Ada","email":"ada@example.org"}`)
	ada.adds("Ben", "ben@example.org", "1815")
	ada.adds("Cleo", "cleo@example.org", "")
	ada.has("/api/users/2", `"phone":"1815"`)
	ada.has("/api/users/3", `"phone":null`)
	ada.sees("columnheader", "Phone")
	ada.sees("cell", "1815")

	ada.changes("Ada", "Name", "Ada King")
	ada.has("/api/users/1", `"name":"Ada King","email":"ada@example.org"`)
	ada.has("/api/users/1", `"phone":null`)
	ada.changes("Ben", "Phone", "")
	ada.has("/api/users/2", `"phone":""`)
	ada.changes("Ben", "Phone", "1912")
	ada.has("/api/users/2", `"phone":"1912"`)

	ada.fills("Search all fields", "191")
	ada.lists("Ben")
	ada.clicks("button", "Delete Ben")
	ada.sees("dialog", "Delete this user?")
	if people := evaluate[string](ada, `document.querySelector('#delete .people').innerText`); people != "Ben\nben@example.org\n1912" {
		t.Errorf("the dialog names %q", people)
	}
}

func (p *person) adds(name, email, phone string) {
	p.Helper()
	p.clicks("button", "Add user")
	p.fills("Name", name)
	p.fills("Email", email)
	p.fills("Phone", phone)
	p.clicks("button", "Save")
	p.reads(name + " was added")
}

func (p *person) changes(name, field, text string) {
	p.Helper()
	p.clicks("button", "Change "+name)
	p.sees("dialog", "Change user")
	p.fills(field, text)
	p.clicks("button", "Save")
	p.seesNo("dialog", "Change user")
}

func TestAConflictShowsAnOptionalField(t *testing.T) {
	ada := withPhone(t, `{"name":"Ada","email":"ada@example.org","phone":"mine"}`)
	ada.clicks("button", "Change Ada")
	ada.sees("dialog", "Change user")
	ada.fills("Name", "Ada King")
	request, err := http.NewRequest(http.MethodPatch, ada.origin+"/api/users/1", strings.NewReader(`{"phone":"theirs"}`))
	ada.must(err)
	_, err = http.DefaultClient.Do(request)
	ada.must(err)
	ada.clicks("button", "Save")
	ada.sees("cell", "theirs")
	ada.clicks("button", "Save mine")
	ada.has("/api/users/1", `"phone":"mine"`)
}

func TestColumnsThatDoNotFitScrollBesideTheName(t *testing.T) {
	ada := withPhone(t, `{"name":"Ada","email":"ada@example.org","phone":"1815"}`)
	ada.sees("cell", "1815")
	ada.look("light", 800, 740)
	if scrolled := evaluate[float64](ada, `(() => {
		const list = document.querySelector('#list');
		list.scrollLeft = 1000;
		return list.scrollLeft;
	})()`); scrolled < 50 {
		t.Errorf("the columns scroll by %.0f pixels", scrolled)
	}
	if !evaluate[bool](ada, `['.name', '.row-actions'].every((cell) => {
		const frame = document.querySelector('#list').getBoundingClientRect();
		const { left, right } = document.querySelector('#list ' + cell).getBoundingClientRect();
		return left >= frame.left && right <= frame.right;
	})`) {
		t.Error("the name or the buttons are out of view")
	}
	for _, width := range []int64{800, 360} {
		ada.look("light", width, 740)
		ada.check()
		if wide := evaluate[int64](ada, `document.scrollingElement.scrollWidth`); wide > width {
			t.Errorf("the page is %d wide in a window of %d", wide, width)
		}
	}
}
