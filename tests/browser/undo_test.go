//go:build browser

package browser

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"users-api/tests/program"
)

func TestWhatWasDoneIsUndone(t *testing.T) {
	for _, c := range []struct {
		name         string
		do           func(*person)
		says, undone string
	}{
		{"a deletion", func(p *person) {
			p.opens("Delete Ada", "Delete this user?").reads("It can be restored until ")
			p.clicks("button", "Delete")
		}, "Ada was deleted", "Ada was restored"},
		{"deletions", func(p *person) {
			p.clicks("checkbox", "Select all on this page")
			p.opens("Delete 3 users", "Delete 3 users?").reads("They can be restored until ")
			p.clicks("button", "Delete 3 users")
		}, "3 users deleted", "3 users restored"},
		{"a change", func(p *person) { p.changes("Ada", "Phone", "") }, "Ada was saved", "Ada was changed back"},
		{"a change of many", func(p *person) {
			p.clicks("checkbox", "Select all on this page")
			p.opens("Set a field", "Set a field of 3 users").chooses("Field", "phone")
			p.clicks("checkbox", "Empty the field").clicks("button", "Empty Phone for 3 users")
		}, "3 users changed", "3 users changed back"},
	} {
		t.Run(c.name, func(t *testing.T) {
			const phone = `,"phone":"1815"`
			ada, p := withFields(t, "phone,room", body("Ada", phone), body("Ben", phone), body("Cleo", phone))
			before := p.Do(t, http.MethodGet, program.CSV, "").Body
			for _, way := range []func(){
				func() { ada.clicks("button", "Undo") },
				func() { ada.tabsTo("button", "Undo").types(kb.Enter) },
			} {
				ada.lists("Cleo", "Ben", "Ada")
				c.do(ada)
				ada.sees("button", "Undo")
				ada.reads(c.says)
				ada.until("the list", func() bool { return evaluate[string](ada, `document.querySelector('#list').ariaBusy`) == "false" })
				ada.check()
				if now := p.Do(t, http.MethodGet, program.CSV, "").Body; now == before {
					t.Fatal("nothing was done")
				}
				way()
				ada.reads(c.undone)
				ada.seesNo("button", "Undo")
				ada.expect("what is stored", p.Do(t, http.MethodGet, program.CSV, "").Body, before)
			}
			c.do(ada)
			ada.clicks("button", "Close").seesNo("button", "Undo")
		})
	}
}

func TestUndoAsksAboutWhatOthersHaveChangedSince(t *testing.T) {
	for decision, stored := range map[string]string{
		"Keep what is stored": `"phone":"3","room":null`, "Overwrite it with yours": `"phone":"1","room":null`,
	} {
		ada, p := withFields(t, "phone,room", body("Ada", `,"phone":"1"`))
		ada.opens("Change Ada", "Change user").fills("Phone", "2").fills("Room", "7").clicks("button", "Save")
		ada.sees("button", "Undo")
		p.Change(t, 1, `{"phone":"3"}`)
		ada.clicks("button", "Undo").sees("dialog", "Changed by somebody else meanwhile")
		ada.check()
		ada.clicks("button", "Back").clicks("button", "Undo").sees("dialog", "Changed by somebody else meanwhile")
		ada.clicks("button", decision).reads("Ada was changed back")
		ada.stores(p, 1, stored)
	}
}

func TestWhoseEmailIsUsedMeanwhileIsRestoredWithAnother(t *testing.T) {
	ada, p := withFields(t, "phone", body("Ada", `,"phone":"1815"`))
	for id, restore := range []func(){
		func() { ada.clicks("button", "Undo") },
		func() {
			ada.fromMenu("Deleted").clicks("checkbox", "Select Ada")
			ada.clicks("button", "Restore 1 user")
		},
	} {
		ada.opens("Delete Ada", "Delete this user?").clicks("button", "Delete").reads("Ada was deleted")
		other := p.Create(t, "Other", "ada@example.org")
		restore()
		ada.sees("dialog", "Restore user")
		ada.describes("Email", emailUsed)
		ada.check()
		ada.fills("Email", "augusta@example.org").clicks("button", "Restore").reads("Ada was restored")
		ada.stores(p, 1, `"phone":"1815"`)
		p.Delete(t, other)
		if id == 0 {
			p.Change(t, 1, `{"email":"ada@example.org"}`)
			ada.open("/")
		}
	}
}

func TestWhoWasDeletedIsFoundAndRestored(t *testing.T) {
	p := withKeys(t)
	for _, name := range []string{"Ben", "Cleo"} {
		p.Do(t, "POST", "/api/users", program.Body(name, strings.ToLower(name)+"@example.org"), "X-API-Key: "+writeKey)
	}
	for _, path := range []string{"/api/users/1", "/api/users/2", "/api/users/3"} {
		p.Do(t, http.MethodDelete, path, "", "X-API-Key: "+writeKey).Expect(t, 204, "")
	}
	ada := visit(t, p, "/")
	ada.gives(writeKey).reads("No users yet")
	ada.fromMenu("Deleted").sees("rowheader", "Cleo cleo@example.org")
	ada.reads("by key API_KEY")
	ada.fills("Search the deleted users", "ben").seesNo("checkbox", "Select Cleo")
	ada.check()
	ada.reloads().clicks("checkbox", "Select Ben").types(kb.Enter).reads("Ben was restored")
	ada.isAt("button", "Close") // the box that had the focus is gone
	ada.clicks("checkbox", "Select all that are listed")
	ada.clicks("button", "Restore 2 users").reads("2 users restored")
	ada.goesBack().seesNo("dialog", "Deleted users")
	ada.lists("Cleo", "Ben", "Ada") // with the ids that they had
	ada.opens("Change Ben", "Change user").clicks("button", "History").reads("Restored by key API_KEY", "Added by key API_KEY")
}

func TestAHistorySaysWhoChangedWhatAndTakesItBack(t *testing.T) {
	p := withKeys(t)
	for _, change := range []string{`{"name":"Augusta"}`, `{"email":"augusta@example.org"}`} {
		p.Do(t, http.MethodPatch, "/api/users/1", change, "X-API-Key: "+writeKey).Expect(t, 200, "…")
	}
	ada := visit(t, p, "/")
	ada.gives(writeKey)
	ada.opens("Change Augusta", "Change user").opens("History", "History of Augusta")
	ada.reads("Changed by key API_KEY", "Email: ada@example.org → augusta@example.org", "Name: Ada → Augusta", "Added by key API_KEY")
	ada.check()
	undo := `document.querySelectorAll('.entries button:not([hidden])')`
	evaluate[any](ada, undo+`[1].focus()`)
	ada.types(kb.Enter).reads("Augusta was changed back", "Name: Augusta → Ada")
	ada.isAt("button", "Close")
	evaluate[any](ada, undo+`[1].click()`) // of the email
	ada.reads("Email: augusta@example.org → ada@example.org")
	p.Do(t, http.MethodPatch, "/api/users/1", `{"name":"Third"}`, "X-API-Key: "+writeKey).Expect(t, 200, "…")
	evaluate[any](ada, undo+`[3].click()`) // of the name again
	ada.sees("dialog", "Changed by somebody else meanwhile")
	ada.clicks("button", "Back").seesNo("dialog", "Changed by somebody else meanwhile")
	ada.goesBack().seesNo("dialog", "History of Augusta")
	ada.expect("what the form has now", ada.value("Name")+" "+ada.value("Email"), "Third ada@example.org")
	ada.clicks("button", "Cancel").lists("Third")
}

func TestWhatIsOpenIsInTheAddress(t *testing.T) {
	ada, _ := visitWith(t, "Ada", "Ben")
	ada.fills("Search names and emails", "ada").lists("Ada")
	at := func(address string) {
		t.Helper()
		ada.until("the address "+address, func() bool {
			return evaluate[string](ada, `location.search + location.hash`) == "?q=ada"+address
		})
	}
	ada.opens("Change Ada", "Change user")
	at("#user=1")
	ada.opens("History", "History of Ada")
	at("#user=1&history")
	ada.reloads().sees("dialog", "History of Ada")
	ada.goesBack().seesNo("dialog", "History of Ada")
	ada.sees("dialog", "Change user")
	ada.goesBack().seesNo("dialog", "Change user")
	ada.must(chromedp.Do(ada.ctx, chromedp.NavigateForward()))
	ada.sees("dialog", "Change user")
	ada.clicks("button", "Cancel").seesNo("dialog", "Change user")
	at("")
	ada.goesBack().lists("Ben", "Ada")
	ada.open("/?sort=name#user=2").sees("dialog", "Change user")
	ada.types(kb.Escape).seesNo("dialog", "Change user")
	evaluate[any](ada, `location.hash = '#user=7'`)
	ada.reads("User not found")
	ada.expect("the address", evaluate[string](ada, `location.search + location.hash`), "?sort=name")
}

func TestTypedTextIsNotLeftWithoutAQuestion(t *testing.T) {
	p := start(t)
	p.Create(t, "Ada", "ada@example.org")
	ada := visit(t, p, "/")
	reload := func() error { _, err := chromedp.Call(ada.ctx, page.Reload, page.ReloadParams{}); return err }
	back := func() error { return chromedp.Do(ada.ctx, chromedp.NavigateBack()) }
	escape := func() error { return chromedp.Do(ada.ctx, chromedp.KeyEvent(kb.Escape)) }
	for _, open := range []struct{ button, dialog string }{{"Add user", "Add user"}, {"Change Ada", "Change user"}} {
		for _, leave := range []func() error{back, escape} {
			ada.opens(open.button, open.dialog).fills("Name", "Augusta")
			ada.answers("", false, reload)
			for range 3 { // a browser lets a page keep a dialog open only so often
				ada.answers(discard, false, leave)
				ada.expect("the name that was typed", ada.value("Name"), "Augusta")
			}
			ada.answers(discard, true, leave)
			ada.seesNo("dialog", open.dialog)
		}
		ada.isAt("button", open.button)
	}
	p.ExpectUsers(t, "Ada")
	ada.opens("Add user", "Add user").reloads().sees("dialog", "Add user") // nothing was typed
	ada.clicks("button", "Cancel").opens("Delete Ada", "Delete this user?")
	ada.holds(func() { ada.clicks("button", "Delete") }, func(fetch.EventRequestPaused) bool {
		ada.answers("", false, reload) // which would leave it half done
		return true
	}, &fetch.RequestPattern{URLPattern: "*/api/users/batch"})
	ada.reads("Ada was deleted")
}

const discard = "Discard what you typed?"

// answers does something until the browser asks a question, and answers it.
func (p *person) answers(question string, answer bool, act func() error) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, program.Patience)
	defer cancel()
	questions := chromedp.Events(ctx, page.JavascriptDialogOpening)
	acted := make(chan error, 1)
	go func() { acted <- act() }() // until there is an answer
	for asked, err := range questions {
		p.must(err)
		p.expect("the question", asked.Message, question)
		call(p, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: answer})
		p.must(<-acted)
		return
	}
	p.Fatalf("nobody asks %q", question)
}

// There is no Undo that would be refused.
func TestNothingIsUndoneWhereNothingIsKeptOrByWhoCanOnlyRead(t *testing.T) {
	p := start(t, "CHANGES_KEEP=0")
	ada := visitAmong(t, p, "Ada")
	ada.opens("Change Ada", "Change user").seesNo("button", "History")
	ada.fills("Name", "Augusta").clicks("button", "Save").reads("Augusta was saved")
	ada.opens("Delete Augusta", "Delete this user?").reads("This cannot be undone.")
	ada.clicks("button", "Delete").reads("Augusta was deleted")
	ben := visit(t, withKeys(t), "/#user=1")
	ben.gives(readKey).sees("dialog", "User")
	ben.seesNo("button", "History")
	ben.seesNo("button", "Save")
	ben.check()
	ben.types(kb.Escape).lists("Ada")
	for _, who := range []*person{ada, ben} {
		who.seesNo("button", "Undo")
		who.clicks("button", "Menu").seesNo("button", "Deleted")
		evaluate[any](who, `location.hash = '#deleted='`)
		who.seesNo("dialog", "Deleted users")
	}
}
