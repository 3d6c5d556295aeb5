//go:build browser

package browser

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/chromedp/kb"

	"users-api/tests/program"
)

const (
	required  = "Name is required"
	emailUsed = "Email is already used by another user"
	changed   = "The user was changed since you read it"
)

func TestAddingShowsEachFieldItsOwnError(t *testing.T) {
	ada, _ := visitWith(t, "Ada")
	ada.opens("Add user", "Add user").isAt("textbox", "Name")
	ada.tries("", "", required, "Email is required", "Name")
	ada.tries("Ben", "", "", "Email is required", "Email")
	ada.tries("Ben", "ada@example.org", "", emailUsed, "Email")
	ada.fills("Email", "ben@example.org").clicks("button", "Save").reads("Ben was added")
	ada.lists("Ben", "Ada")
	ada.isAt("button", "Add user")
	ada.reads("2 users")
}

// A name opens its user for those who may change it, and can be marked to be copied.
func TestAClickOnANameOpensTheUser(t *testing.T) {
	p := withKeys(t)
	ada := visit(t, p, "/")
	ada.gives(writeKey).lists("Ada")
	ada.clicks("rowheader", "Ada").sees("dialog", "Change user")
	ada.fills("Name", "Augusta").types(kb.Enter).lists("Augusta")
	evaluate[any](ada, `getSelection().selectAllChildren(document.querySelector('tbody .name bdi'))`)
	evaluate[any](ada, `document.querySelector('tbody .name bdi').click()`)
	timer(ada, 300*time.Millisecond)
	ada.seesNo("dialog", "Change user")
	ben := visit(t, p, "/")
	ben.gives(readKey).lists("Augusta")
	ben.clicks("rowheader", "Augusta")
	timer(ben, 300*time.Millisecond)
	ben.seesNo("dialog", "Change user")
}

// tries saves a name and an email that are not taken, until each field says so and the first that does has the focus.
func (p *person) tries(name, email, ofName, ofEmail, focus string) {
	p.Helper()
	p.fills("Name", name).fills("Email", email).types(kb.Enter).describes("Name", ofName)
	p.describes("Email", ofEmail)
	p.isAt("textbox", focus)
}

// describes waits until a field is described by a sentence, and is invalid when there is one.
func (p *person) describes(field, sentence string) {
	p.Helper()
	p.until(fmt.Sprintf("the field %s to say %q", field, sentence), func() bool {
		return on[string](p, p.field(field), `function() {
			const words = document.getElementById(this.getAttribute('aria-describedby')).innerText;
			return (this.ariaInvalid === 'true') === (words !== '') ? words : 'marked otherwise';
		}`) == sentence
	})
}

func TestEverythingIsDoneWithTheKeyboardAlone(t *testing.T) {
	ada, _ := visitWith(t)
	ada.tabsTo("searchbox", "Search names and emails")
	ada.tabsTo("button", "Menu")
	ada.types(kb.Enter+kb.Tab+kb.Enter).sees("dialog", "Import users")
	ada.types(kb.Escape).isAt("button", "Menu")
	ada.types(kb.Tab+kb.Enter).sees("dialog", "Add user")
	ada.types("Ada" + kb.Tab + "ada@example.org" + kb.Enter).lists("Ada")
	ada.tabsTo("checkbox", "Select Ada")
	ada.types(" ").sees("button", "Delete 1 user")
	ada.types(" ").seesNo("button", "Delete 1 user")
	ada.tabsTo("button", "Change Ada")
	ada.types(kb.Enter).sees("dialog", "Change user")
	ada.types(kb.Escape).isAt("button", "Change Ada")
	ada.types(kb.Enter).sees("dialog", "Change user")
	ada.fills("Name", "Ada King").types(kb.Enter).lists("Ada King")
	ada.isAt("button", "Change Ada King")
	ada.types(kb.Tab+kb.Enter).sees("dialog", "Delete this user?")
	ada.tabsTo("button", "Delete")
	ada.types(kb.Enter).reads("No users yet")
	ada.isAt("searchbox", "Search names and emails")
}

// tabsTo presses Tab until the focus is on something, and fails where it cannot be seen.
func (p *person) tabsTo(role, name string) *person {
	p.Helper()
	id := p.sees(role, name)
	for range 20 {
		p.types(kb.Tab)
		if on[bool](p, id, `function() { return this === document.activeElement; }`) {
			if !on[bool](p, id, `function() { return parseFloat(getComputedStyle(this).outlineWidth) >= 2; }`) {
				p.Errorf("the focus on %s %q cannot be seen", role, name)
			}
			return p
		}
	}
	p.Fatalf("Tab does not lead to %s %q", role, name)
	return p
}

// Mine are the fields that I edited. Only what both have changed is asked about.
func TestOnlyAFieldThatBothHaveChangedIsAskedAbout(t *testing.T) {
	page, p := withFields(t, "phone,"+oddNames)
	page.look("dark", 360, 740)
	for _, tried := range []struct{ name, theirs, decision, stored string }{
		{"different fields", `{"email":"theirs@example.org","phone":"theirs"}`, "",
			`"name":"Mine","email":"theirs@example.org",…"phone":"theirs"…"form":"mine"…`},
		{"the same value", `{"name":"Mine","phone":"theirs"}`, "", `"name":"Mine",…"phone":"theirs"…"form":"mine"…`},
		{"mine", `{"name":"Theirs","phone":"theirs"}`, "Overwrite it with yours", `"name":"Mine",…"phone":"theirs"…"form":"mine"…`},
		{"theirs", `{"name":"Theirs","phone":"theirs"}`, "Keep what is stored", `"name":"Theirs",…"phone":"theirs"…"form":"mine"…`},
	} {
		t.Run(tried.name, func(t *testing.T) {
			id := p.Do(t, http.MethodPost, "/api/users", body("Ada", `,"phone":"old"`)).User(t).ID
			defer p.Delete(t, id)
			ada := page.in(t)
			ada.open("/")
			ada.opens("Change Ada", "Change user").fills("Name", "Mine").fills("Form", "mine")
			p.Change(t, id, tried.theirs)
			ada.types(kb.Enter)
			if tried.decision != "" {
				ada.sees("dialog", "Changed by somebody else meanwhile")
				ada.expect("what is asked about", evaluate[string](ada, `[
					...document.querySelectorAll('#conflict tbody tr')].filter((tr) => tr.checkVisibility()).map((tr) => tr.innerText).join()`),
					"Name\tMine\tTheirs")
				ada.expect("the button that stands out", evaluate[string](ada, `document.querySelector('#conflict .primary').innerText`),
					"Keep what is stored")
				ada.check()
				ada.clicks("button", "Back").isAt("textbox", "Form")
				ada.expect("the name, back in the form", ada.value("Name"), "Mine")
				ada.types(kb.Enter)
				ada.clicks("button", tried.decision)
			}
			ada.seesNo("dialog", "Change user")
			p.Do(t, http.MethodGet, fmt.Sprint("/api/users/", id), "").Expect(t, 200, `{"id":…,`+tried.stored)
		})
	}
}

// Who was deleted meanwhile is there again with its id and what was typed; where nothing is kept, with another id.
func TestAUserWhoWasDeletedMeanwhileIsAddedAgainWithWhatWasTyped(t *testing.T) {
	for keep, id := range map[string]int{"720h": 1, "0": 3} {
		t.Run("CHANGES_KEEP="+keep, func(t *testing.T) {
			p := start(t, "USER_FIELDS=phone,room", "CHANGES_KEEP="+keep)
			p.Do(t, http.MethodPost, "/api/users", body("Ada", `,"phone":"1815"`))
			p.Create(t, "Ben", "ben@example.org")
			ada := visit(t, p, "/")
			ada.opens("Change Ada", "Change user").fills("Room", "7")
			p.Delete(t, 1)
			ada.clicks("button", "Save").reads("Somebody has deleted this user meanwhile")
			ada.check()
			p.ExpectUsers(t, "Ben")
			ada.clicks("button", "Add again").stores(p, id, `"phone":"1815","room":"7"`)
			ada.seesNo("dialog", "Change user")
		})
	}
}

func TestAChangeSendsOnlyWhatWasChangedOfAUserWhoIsThere(t *testing.T) {
	p := start(t)
	program.OpenOther(t, p.DatabasePath()).Do(`INSERT INTO users (name, email) VALUES ('Ada', '')`)
	ada := visit(t, p, "/")
	ada.opens("Change Ada", "Change user")
	ada.fills("Name", "Augusta") // with the email, which is empty, it would be refused
	ada.types(kb.Enter).lists("Augusta")
	p.Delete(t, 1)
	ada.clicks("button", "Change Augusta").reads("User not found", "No users yet")
}

func TestSeveralAreDeletedAtOnceAndFailuresAreCounted(t *testing.T) {
	p := start(t)
	create(t, p, 9)
	ada := visit(t, p, "/")
	ada.clicks("checkbox", "Select all on this page").reads("9 selected")
	ada.clicks("checkbox", "Select User 004").reads("8 selected")
	ada.opens("Delete 8 users", "Delete 8 users?").reads("User 008", "and 2 others")
	p.Delete(t, 1) // which is neither a failure nor a deletion of this person
	program.OpenOther(t, p.DatabasePath()).Do(
		"CREATE TRIGGER r BEFORE DELETE ON users WHEN OLD.id = 2 BEGIN SELECT RAISE(ABORT, 'not Ben'); END")
	ada.clicks("button", "Delete 8 users").reads("6 users deleted, 1 not found, 1 failed", "User 001: constraint failed: not Ben")
	ada.lists("User 004", "User 001")
	ada.clicks("button", "Cancel").reads("1 selected")
	p.ExpectUsers(t, "User 001", "User 004")
}

// Who was changed by somebody else is shown as it is now before it is deleted, also among several.
func TestOnlyWhoIsAsThePersonSawIsDeleted(t *testing.T) {
	ada, p := visitWith(t, "Ada", "Ben", "Cleo")
	ada.clicks("checkbox", "Select all on this page")
	ada.opens("Delete 3 users", "Delete 3 users?")
	p.Change(t, 2, `{"name":"Theirs"}`)
	ada.clicks("button", "Delete 3 users").reads("2 users deleted, 1 failed", "Ben: "+changed, "Delete this user?\n", "Theirs\nben@example.org")
	p.ExpectUsers(t, "Theirs")
	ada.clicks("button", "Delete").reads("Theirs was deleted")
	p.ExpectUsers(t)
	p.Create(t, "Dan", "dan@example.org")
	ada.open("/").opens("Delete Dan", "Delete this user?")
	batches := 0 // the page reads the user again before it opens the dialog, and in a batch before the one that deletes
	ada.holds(func() { ada.clicks("button", "Delete") }, func(fetch.EventRequestPaused) bool {
		if batches++; batches == 2 {
			p.Change(t, 4, `{"name":"Eve"}`)
		}
		return batches == 2
	}, &fetch.RequestPattern{URLPattern: "*/api/users/batch"})
	ada.reads(changed)
	p.ExpectUsers(t, "Eve")
	p.Delete(t, 4)
	ada.clicks("button", "Delete").reads("0 users deleted, 1 not found", "No users yet")
}

// JavaScript's numbers end at 2^53: the ids of these neighbours are the same for it.
func TestIdsAreNotRounded(t *testing.T) {
	p := start(t)
	other := program.OpenOther(t, p.DatabasePath())
	for i, name := range []string{"Ada", "Ben", "Cleo", "Dan", "Eve"} {
		id := []int64{1<<53 - 1, 1 << 53, 1<<53 + 1, 1<<63 - 2, 1<<63 - 1}[i]
		other.Do(fmt.Sprintf(`INSERT INTO users (id, name, email) VALUES (%d, '%s', '"id":%[1]d, %[3]d')`, id, name, i))
	}
	ada := visit(t, p, "/")
	ada.lists("Eve", "Dan", "Cleo", "Ben", "Ada")
	ada.reads(`"id":9007199254740993, 2`)
	ada.changes("Cleo", "Name", "Augusta")
	ada.lists("Eve", "Dan", "Augusta", "Ben", "Ada")
	ada.open("/?after=9007199254740993").lists("Ben", "Ada")
	ada.open("/")
	ada.clicks("checkbox", "Select Augusta").clicks("checkbox", "Select Dan")
	ada.opens("Delete 2 users", "Delete 2 users?").clicks("button", "Delete 2 users").reads("2 users deleted")
	p.ExpectUsers(t, "Ada", "Ben", "Eve")
	ada.opens("Delete Eve", "Delete this user?").clicks("button", "Delete").reads("Eve was deleted")
	p.ExpectUsers(t, "Ada", "Ben")
}
