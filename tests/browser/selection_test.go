//go:build browser

package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/chromedp/kb"

	"users-api/tests/program"
)

// selected starts the program with 30 users, of whom the first two and the last are selected, on two pages.
func selected(t *testing.T) (*person, *program.Program) {
	t.Helper()
	ada, p := withFields(t, "department,room", numbered(30, `,"department":"old, \"D\""`)...)
	ada.clicks("checkbox", "Select User-30")
	ada.clicks("button", "Next")
	ada.clicks("checkbox", "Select User-1")
	ada.clicks("checkbox", "Select User-2").reads("3 selected, 1 not on this page")
	return ada, p
}

// numbered are the bodies of n users with values.
func numbered(n int, values string) (bodies []string) {
	for i := range n {
		bodies = append(bodies, body(fmt.Sprint("User-", i+1), values))
	}
	return bodies
}

// departments are those of all users that differ from the one with which they began, by id.
func departments(t *testing.T, p *program.Program) string {
	t.Helper()
	var texts []string
	for line := range strings.Lines(p.Do(t, http.MethodGet, program.CSV, "").Body) {
		if cells := strings.Split(strings.TrimSpace(line), ","); len(cells) == 6 && cells[4] != "department" {
			texts = append(texts, cells[0]+" "+cells[4])
		}
	}
	return strings.Join(texts, ", ")
}

func TestTheSelectionIsKeptFromPageToPage(t *testing.T) {
	ada, _ := selected(t)
	ada.clicks("button", "First").reads("3 selected, 2 not on this page")
	ada.clicks("checkbox", "Select all on this page").reads("27 selected, 2 not on this page")
	ada.fills("Search all fields", "User-30").lists("User-30")
	ada.reads("27 selected, 26 not on this page")
	ada.clicks("checkbox", "Select all on this page").reads("26 selected, 26 not on this page")
	ada.clicks("button", "Clear").seesNo("region", "Selected users")
}

func TestManyUsersAreSelectedAtOnce(t *testing.T) {
	ada, _ := withFields(t, "department", numbered(30, "")...)
	ada.clicks("checkbox", "Select User-28")
	on[bool](ada, ada.sees("checkbox", "Select User-25"), `function() {
		return this.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, shiftKey: true }));
	}`)
	ada.reads("4 selected")
	ada.clicks("checkbox", "Select all on this page").reads("25 selected")
	ada.clicks("button", "Select all 30").reads("30 selected, 5 not on this page")
	ada.isAt("region", "Users") // the button is gone
	evaluate[any](ada, `addEventListener('copy', ({ clipboardData }) => { window.copied = clipboardData.getData('text/plain'); })`)
	ada.clicks("button", "Copy emails").reads("30 emails copied")
	ada.expect("what is copied", evaluate[string](ada, `copied`), "user-28@example.org, user-27@example.org, …, user-1@example.org")
	ada.clicks("button", "Clear").seesNo("region", "Selected users")
	ada.expect("what a screen reader says", evaluate[string](ada,
		`document.querySelector('#announced[role=status]').textContent`), "")
}

// From a row that was selected, Tab leads to what can be done with it.
func TestTheBarOfActionsFollowsTheRowThatWasSelected(t *testing.T) {
	ada, _ := withFields(t, "department", numbered(30, "")...)
	ada.tabsTo("checkbox", "Select User-28")
	ada.types(" ").reads("1 selected")
	ada.types(kb.Tab).isAt("button", "Clear")
	ada.types(kb.Tab+kb.Tab+kb.Tab+kb.Tab).isAt("button", "Delete 1 user")
	ada.types(kb.Tab).isAt("link", "user-28@example.org")
}

func TestTheSelectedUsersOfManyPagesAreExportedAndDeleted(t *testing.T) {
	ada, p := selected(t)
	all := strings.SplitAfter(p.Do(t, http.MethodGet, program.CSV, "").Body, "\r\n")
	ada.opens("Export selected", "Export users").reads("The 3 selected")
	got := ada.downloads(exactly)
	ada.expect("the file", got, all[0]+all[1]+all[2]+all[30])
	got = ada.downloads(forSpreadsheets)
	ada.expect("the file for spreadsheets", got, "\ufeff"+all[0]+all[1]+all[2]+all[30])
	p.Delete(t, 2)
	p.Create(t, "Another", "user-2@example.org") // is not the one who was selected
	got = ada.downloads(forPrograms)
	ada.expect("the file of JSON", got, "{\"id\":1,…}\n{\"id\":30,…}\n")
	ada.reads("2 users exported, 1 not found")
	ada.check()
	ada.clicks("button", "Close")
	ada.opens("Delete 3 users", "Delete 3 users?").reads("User-30")
	ada.clicks("button", "Delete 3 users").reads("2 users deleted, 1 not found")
	ada.seesNo("region", "Selected users")
	if users := p.List(t); len(users) != 28 || users[0].Name != "User-3" || users[26].Name != "User-29" {
		t.Errorf("left are %v", users)
	}
}

func TestAFieldIsSetForAllSelectedUsers(t *testing.T) {
	ada, p := selected(t)
	p.Delete(t, 2)
	p.Change(t, 30, `{"department":"theirs"}`)
	p.Change(t, 1, `{"room":"7"}`) // another field does not matter
	ada.opens("Set a field", "Set a field of 3 users")
	ada.clicks("button", "Set").isAt("combobox", "Field") // none is chosen beforehand
	ada.chooses("Field", "department").clicks("button", "Set Department for 3 users").isAt("textbox", "New value")
	ada.expect("what is stored", departments(t, p), "30 theirs")
	ada.fills("New value", "Research").clicks("button", "Set Department for 3 users").reads("1 user changed, 1 not found, 1 failed")
	ada.reads("User-30: Somebody else has changed this field meanwhile")
	ada.check()
	ada.expect("what is stored", departments(t, p), "1 Research, 30 theirs")
	ada.clicks("button", "Cancel").reads("1 selected, 1 not on this page") // the one who is gone is not
	ada.clicks("button", "First").reads("1 selected")                      // and was seen as it is now
	ada.opens("Set a field", "Set a field of 1 user").chooses("Field", "department")
	ada.fills("New value", "Research").clicks("button", "Set Department for 1 user").reads("User-30 was changed")
	ada.isAt("region", "Users") // the button that opened the dialog is away
	ada.expect("what is stored", departments(t, p), "1 Research, 30 Research")
	ada.clicks("checkbox", "Select User-30").opens("Set a field", "Set a field of 1 user").chooses("Field", "department")
	ada.clicks("checkbox", "Empty the field").clicks("button", "Empty Department for 1 user").reads("User-30 was changed")
	ada.stores(p, 30, `"department":null,"room":null`)
}

func TestSettingAFieldIsEndedByClosingTheDialogAndClosesNoOther(t *testing.T) {
	ada, p := withFields(t, "department,room", numbered(25, "")...)
	ada.clicks("checkbox", "Select all on this page")
	ada.opens("Set a field", "Set a field of 25 users").chooses("Field", "department").fills("New value", "Research")
	ada.holds(func() { ada.clicks("button", "Set Department for 25 users") }, func(fetch.EventRequestPaused) bool {
		ada.clicks("button", "Cancel")
		ada.opens("Set a field", "Set a field of 25 users").fills("New value", "typed")
		return true
	}, &fetch.RequestPattern{URLPattern: "*/api/users/*"})
	ada.reads("0 users changed, 25 not tried") // what the first had begun, to read them, is over
	ada.expect("what was typed", ada.value("New value"), "typed")
	ada.expect("how many have the field after the dialog was closed", strings.Count(departments(t, p), "Research"), 0)
}

func TestMoreUsersThanOneRequestHasAreChanged(t *testing.T) {
	ada, p := withFields(t, "department,room", numbered(110, `,"department":"old"`)...)
	for first := 1; first < 110; first += 25 {
		ada.reads(fmt.Sprintf("%d–%d of 110", first, min(first+24, 110)))
		ada.clicks("checkbox", "Select all on this page")
		if first < 100 {
			ada.clicks("button", "Next")
		}
	}
	ada.opens("Set a field", "Set a field of 110 users").chooses("Field", "department").fills("New value", "Research")
	ada.clicks("button", "Set Department for 110 users").reads("110 users changed")
	ada.expect("how many have the field", strings.Count(departments(t, p), "Research"), 110)
	ada.clicks("button", "Undo").reads("110 users changed back")
	ada.expect("how many have the field after Undo", strings.Count(departments(t, p), "old"), 110)
}

// Whoever goes on before an answer comes is not led back by it, and nothing is done to others than those on screen.
func TestALateAnswerChangesNothing(t *testing.T) {
	const dialog, all = "Set a field of 25 users", "*/api/users?*limit=1000*"
	sets := func(p *person) { p.clicks("button", "Set Department for 25 users").reads("25 users changed") }
	selects := func(p *person) { p.clicks("checkbox", "Select all on this page").reads("25 selected") }
	opensSet := func(p *person) {
		p.opens("Set a field", dialog).chooses("Field", "department").fills("New value", "new")
	}
	selectsAll := func(p *person) { p.clicks("button", "Select all 30") }
	for name, c := range map[string]struct {
		before      func(*person)
		held        string // the request whose answer is late
		ask, during func(*person)
		after       func(*person)
	}{
		"a pencil's, once another user is added": {held: "*/api/users/30",
			ask:    func(p *person) { p.clicks("button", "Change User-30") },
			during: func(p *person) { p.opens("Add user", "Add user").fills("Name", "Typed") },
			after: func(p *person) {
				p.sees("dialog", "Add user")
				p.expect("the form", p.value("Name")+p.value("Email"), "Typed")
			}},
		"a pencil's, once another's is pressed": {held: "*/api/users/30",
			ask:    func(p *person) { p.clicks("button", "Change User-30") },
			during: func(p *person) { p.opens("Change User-29", "Change user").fills("Name", "Typed") },
			after:  func(p *person) { p.expect("the form", p.value("Name")+p.value("Email"), "Typeduser-29@example.org") }},
		"a pencil's, once others are to be deleted": {before: selects, held: "*/api/users/30",
			ask:    func(p *person) { p.clicks("button", "Change User-30") },
			during: func(p *person) { p.opens("Delete 25 users", "Delete 25 users?") },
			after:  func(p *person) { p.seesNo("dialog", "Change user") }},
		"all who are found, once nobody is selected": {before: selects, held: all, ask: selectsAll,
			during: func(p *person) { p.clicks("button", "Clear") },
			after:  func(p *person) { p.seesNo("region", "Selected users") }},
		"all who are found, once others are searched for": {before: selects, held: all, ask: selectsAll,
			during: func(p *person) { p.fills("Search all fields", "User-30").lists("User-30") },
			after:  func(p *person) { p.reads("25 selected, 24 not on this page") }},
		"all who are found, once a dialog says for whom it is": {before: selects, held: all, ask: selectsAll,
			during: opensSet, after: sets},
		"a history's, once another's is open": {held: "*/api/users/30/changes*",
			before: func(p *person) { p.changes("User-30", "Department", "Later") },
			ask:    func(p *person) { p.opens("Change User-30", "Change user").opens("History", "History of User-30") },
			during: func(p *person) {
				p.clicks("button", "Close").clicks("button", "Cancel")
				p.opens("Change User-29", "Change user").opens("History", "History of User-29").reads("Added")
			},
			after: func(p *person) { program.Forbid(p.T, p.page(), "→ Later") }},
		"a history's, after another's was open": {held: "*/api/users/29/changes*",
			before: func(p *person) {
				p.changes("User-30", "Department", "Later")
				p.opens("Change User-30", "Change user").opens("History", "History of User-30").reads("→ Later")
				p.clicks("button", "Close").clicks("button", "Cancel")
			},
			ask:    func(p *person) { p.opens("Change User-29", "Change user").opens("History", "History of User-29") },
			during: func(p *person) { program.Forbid(p.T, p.page(), "→ Later") },
			after:  func(p *person) { p.reads("Added") }},
		"that of Undo, once another user is saved": {held: "*/api/users/batch",
			before: func(p *person) {
				selects(p)
				opensSet(p)
				sets(p)
			},
			ask:    func(p *person) { p.clicks("button", "Undo") },
			during: func(p *person) { p.changes("User-30", "Name", "Ada") },
			after:  func(p *person) { p.reads("users changed back", "Ada was saved\n\nUndo") }},
		"that of a restoration, once the dialog is closed": {held: "*/api/users/batch",
			before: func(p *person) {
				p.opens("Delete User-30", "Delete this user?").clicks("button", "Delete").reads("User-30 was deleted")
			},
			ask: func(p *person) {
				p.fromMenu("Deleted").clicks("checkbox", "Select User-30").clicks("button", "Restore 1 user")
			},
			during: func(p *person) { p.types(kb.Escape).seesNo("dialog", "Deleted users") },
			after:  func(p *person) { p.reads("User-30 was restored") }},
		"everybody to be printed, once others are searched for": {held: all,
			before: func(p *person) { evaluate[any](p, `window.print = () => { window.printed = true; }`) },
			ask:    func(p *person) { p.fromMenu("Print").reads("Reading everybody") },
			during: func(p *person) { p.fills("Search all fields", "User-30").lists("User-30") },
			after: func(p *person) {
				p.expect("whether it is printed", evaluate[bool](p, `window.printed ?? false`), false)
			}},
	} {
		t.Run(name, func(t *testing.T) {
			ada, _ := withFields(t, "department", numbered(30, "")...)
			ada.reads("1–25 of 30")
			if c.before != nil {
				c.before(ada)
			}
			ada.holds(func() { c.ask(ada) }, func(fetch.EventRequestPaused) bool {
				c.during(ada)
				return true
			}, &fetch.RequestPattern{URLPattern: c.held})
			timer(ada, 200*time.Millisecond) // in which the answer, that should not be followed, comes
			c.after(ada)
		})
	}
}
