//go:build browser

package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"

	"users-api/tests/program"
)

// withFields starts the program with fields, and creates users from bodies.
func withFields(t *testing.T, fields string, bodies ...string) (*person, *program.Program) {
	t.Helper()
	p := start(t, "USER_FIELDS="+fields)
	for _, body := range bodies {
		p.Do(t, http.MethodPost, "/api/users", body).Expect(t, http.StatusCreated, "…")
	}
	return visit(t, p, "/"), p
}

// body creates a user with the members of values, each with a comma before it.
func body(name, values string) string {
	return fmt.Sprintf(`{"name":"%s","email":"%s@example.org"%s}`, name, strings.ToLower(name), values)
}

// stores waits until the JSON of a user ends with fields.
func (p *person) stores(service *program.Program, id int, fields string) {
	p.Helper()
	p.until(fmt.Sprintf("the user %d to have %.300s", id, fields), func() bool {
		return strings.HasSuffix(service.Do(p.T, http.MethodGet, fmt.Sprint("/api/users/", id), "").Body, fields+"}")
	})
}

func (p *person) changes(name, field, text string) {
	p.Helper()
	p.opens("Change "+name, "Change user")
	p.fills(field, text).clicks("button", "Save").seesNo("dialog", "Change user")
}

func TestThePageHasAnAddedField(t *testing.T) {
	ada, p := withFields(t, "phone", `{"name":"Ada","email":"ada@example.org"}`)
	ada.lists("Ada")
	ada.clicks("button", "Add user").fills("Name", "Ben").fills("Email", "ben@example.org").fills("Phone", "1815")
	ada.clicks("button", "Save").reads("Ben was added")
	ada.clicks("button", "Add user").fills("Name", "Cleo").fills("Email", "cleo@example.org").fills("Phone", "")
	ada.clicks("button", "Save").reads("Cleo was added")
	ada.stores(p, 2, `"phone":"1815"`)
	ada.stores(p, 3, `"phone":null`)
	ada.sees("columnheader", "Phone")
	ada.sees("cell", "1815")
	ada.changes("Ben", "Phone", "1912")
	ada.stores(p, 2, `"phone":"1912"`)
	ada.fills("Search all fields", "191").lists("Ben")
	ada.opens("Delete Ben", "Delete this user?")
	ada.expect("who would be deleted", evaluate[string](ada, `document.querySelector('#delete .people').innerText`),
		"Ben\nben@example.org")
	ada.clicks("button", "Cancel")
	ada.fromMenu("Export")
	ada.expect("the export", ada.downloads(exactly), "…,1912\r\n")
	ada.clicks("button", "Close")
	ada.imports("people.csv", "name,email,PHONE,id,Fax privé\nBen,ben@example.org,1,7,\n")
	ada.reads("One is here already") // the answer moves the buttons: a click before it may miss them
	ada.clicks("radio", "Update from the file").reads("There is no field for Fax privé.", "with fax_prive in USER_FIELDS")
	ada.reads("users-api add-field fax_prive")
	ada.check()
	ada.clicks("button", "Import 1 user").stores(p, 2, `"phone":"1"`)
}

// Null and an empty text look the same in an input, and a line break is not shown there.
func TestAFieldThatIsNotEditedKeepsItsValue(t *testing.T) {
	values := []string{`null`, `""`, `"a\r\nb\n"`, "\"\u202eשלום\"", `"` + strings.Repeat("x", 100_000) + `"`}
	var users []string
	for i, value := range values {
		users = append(users, fmt.Sprintf(`{"name":"User %d","email":"%[1]d@example.org","phone":%s,"room":%[2]s}`, i+1, value))
	}
	ada, p := withFields(t, "phone,room", users...)
	for i, value := range values {
		name := fmt.Sprint("User ", i+1)
		ada.open(fmt.Sprintf("/?q=%d@example.org", i+1)) // 100 KB make what else is on a page slow
		ada.changes(name, "Name", "New "+name)
		ada.stores(p, i+1, `"phone":`+value+`,"room":`+value)
		ada.opens("Change New "+name, "Change user")
		ada.fills("Room", "7").fills("Phone", "1")
		evaluate[bool](ada, `(() => { // puts back what was shown
			const input = document.querySelector('#field-phone');
			input.value = `+value+` ?? '';
			return true;
		})()`)
		ada.clicks("button", "Save").seesNo("dialog", "Change user")
		ada.stores(p, i+1, `"phone":`+value+`,"room":"7"`)
	}
	ada.changes("New User 5", "Phone", "") // is no value, as an empty cell of a file is
	ada.stores(p, 5, `"phone":null,"room":"7"`)
}

// oddNames are names that JavaScript's objects, the DOM or the page itself have too.
const oddNames = "tag,constructor,to_string,length,type,hidden,class,style,group,null,true,form,user,value,children,id_"

func TestAFieldMayBeCalledLikeAnything(t *testing.T) {
	ada, p := withFields(t, oddNames, `{"name":"Ada","email":"ada@example.org"}`)
	ada.lists("Ada")
	ada.opens("Add user", "Add user")
	ada.clicks("button", "Save").describes("Name", required)
	ada.expect("fields that are invalid",
		evaluate[int](ada, `document.querySelectorAll('[aria-invalid=true]').length`), 2)
	ada.fills("Name", "Ben").fills("Email", "ada@example.org").fills("Constructor", "c").clicks("button", "Save")
	ada.describes("Email", emailUsed)
	ada.fills("Email", "ben@example.org").clicks("button", "Save")
	ada.stores(p, 2, strings.Replace(nulls(oddNames), `"constructor":null`, `"constructor":"c"`, 1))
	ada.sees("cell", "c") // the list is there again
	want := nulls(oddNames)
	for name, label := range map[string]string{"constructor": "Constructor", "to_string": "To string", "null": "Null", "form": "Form",
		"value": "Value", "children": "Children"} {
		ada.changes("Ada", label, "new "+name)
		want = strings.Replace(want, `"`+name+`":null`, `"`+name+`":"new `+name+`"`, 1)
		ada.stores(p, 1, want)
	}
}

// nulls is the JSON of fields that are null.
func nulls(fields string) string { return `"` + strings.ReplaceAll(fields, ",", `":null,"`) + `":null` }

func TestAValueThatAnotherUserHasIsMarkedInTheForm(t *testing.T) {
	ada, p := withFields(t, "room,member_no", body("Ada", `,"room":"7","member_no":"1815"`), body("Ben", ""))
	p.Run(t, "add-field", "--unique", "member_no").MustSucceed(t)
	ada.opens("Change Ben", "Change user")
	ada.fills("Room", "7").fills("Member no", "1815").clicks("button", "Save")
	ada.describes("Member no", "member_no is already used by another user")
	ada.isAt("textbox", "Member no")
	ada.describes("Room", "")
	ada.describes("Email", "")
	ada.fills("Member no", "1816").clicks("button", "Save").reads("Ben was saved")
	ada.opens("Add user", "Add user").describes("Member no", "")
	ada.fills("Name", "Cleo").fills("Email", "cleo@example.org").fills("Member no", "1816").clicks("button", "Save")
	ada.describes("Member no", "member_no is already used by another user")
	ada.isAt("textbox", "Member no")
}

func TestThePageShowsWhenAUserWasChanged(t *testing.T) {
	ada, p := withFields(t, "room,updated_at", body("Ada", ""), body("Ben", ""))
	other := program.OpenOther(t, p.DatabasePath())
	other.Do("UPDATE users SET updated_at = datetime('now', '-73 hours') WHERE id = 1")
	moment := other.Ask("SELECT CAST(updated_at AS TEXT) FROM users WHERE id = 1")
	ada.reloads().lists("Ben", "Ada")
	ada.sees("columnheader", "Updated")
	shown := evaluate[[]string](ada, `(({ title, dateTime }) =>
		[title, dateTime])(document.querySelector('[data-id="1"] [data-column=updated_at] time'))`)
	ada.expect("the tooltip", shown[0], "… ("+moment+" UTC)")
	ada.expect("the machine's form of the time", shown[1], strings.Replace(moment, " ", "T", 1)+".000Z")
	ada.clicks("button", "Updated").lists("Ada", "Ben")
	ada.clicks("button", "Updated").lists("Ben", "Ada")
	ada.clicks("button", "Updated").lists("Ben", "Ada") // by id
	ada.opens("Change Ada", "Change user")
	ada.expect("the inputs of the form",
		evaluate[string](ada, `[...document.querySelectorAll('#user input')].map(({ id }) => id).join()`), "name,email,…field-room")
	ada.fills("Room", "7").clicks("button", "Save").lists("Ben", "Ada")
	ada.opens("Change Ada", "Change user")
	ada.fills("Name", "Augusta").clicks("button", "Save").lists("Ben", "Augusta")
	ada.check()
}

func TestThePageHasTheTypesOfFields(t *testing.T) {
	ada, p := withFields(t, "active:boolean,joined:date,level:number,site:url,role:staff|board",
		body("Ada", `,"active":true,"joined":"2019-03-31","level":10,"site":"https://ada.example/a?b","role":"board"`),
		body("Ben", `,"active":false,"joined":"2026-01-01","level":9.5`), body("Cleo", ""))
	other := program.OpenOther(t, p.DatabasePath()) // which knows no types
	other.Do("UPDATE users SET active='x', joined='2026-02-30', level='1,5', site='javascript:x', role='Board' WHERE id=3")
	call(ada, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "America/Los_Angeles"})
	ada.reloads().lists("Cleo", "Ben", "Ada")
	ada.expect("the list", evaluate[string](ada, `[...document.querySelectorAll('#list tbody tr')].map((tr) => [
		...tr.querySelectorAll('[data-column]:not([data-kind=time])')].map((td) => td.innerText).join(' ')).join()`),
		"x 2026-02-30 1,5 javascript:x Board,No 1 Jan 2026 9.5  ,Yes 31 Mar 2019 10 https://ada.example/a?b board")
	ada.expect("the links", evaluate[string](ada, `[...document.querySelectorAll('#list [data-kind=url] a')].map(
		({ href, rel, target }) => [href, rel, target]).join()`), "https://ada.example/a?b,noopener noreferrer,_blank")

	ada.changes("Cleo", "Name", "Cleo B") // what does not fit stays
	ada.stores(p, 3, `"active":"x","joined":"2026-02-30","level":"1,5","site":"javascript:x","role":"Board"`)
	ada.opens("Change Cleo B", "Change user").chooses("Role", "").chooses("Active", "false").fills("Level", "1.5x")
	ada.check()
	ada.clicks("button", "Save").describes("Level", "level must be a number or null")
	ada.isAt("textbox", "Level")
	ada.fills("Joined", "").fills("Level", "0").fills("Site", "https://cleo.example").clicks("button", "Save")
	ada.stores(p, 3, `"active":false,"joined":null,"level":0,"site":"https://cleo.example","role":null`)
	ada.opens("Change Cleo B", "Change user").clicks("button", "History")
	ada.reads("Active: x → No", "Joined: 2026-02-30 → –", "Level: 1,5 → 0", "Role: Board → –")
	ada.clicks("button", "Close").clicks("button", "Cancel")

	ada.opens("Change Ada", "Change user").fills("Level", "-").clicks("button", "Save") // which is no number yet
	ada.describes("Level", "Please enter a number.")
	ada.fills("Level", "-0.50").fills("Joined", "12122020").chooses("Role", "staff").chooses("Active", "")
	ada.clicks("button", "Save").reads("Ada was saved")
	ada.stores(p, 1, `"active":null,"joined":"2020-12-12","level":-0.5,"site":"https://ada.example/a?b","role":"staff"`)
	ada.clicks("button", "Undo").reads("Ada was changed back")
	ada.stores(p, 1, `"active":true,"joined":"2019-03-31","level":10,"site":"https://ada.example/a?b","role":"board"`)

	for _, c := range []struct {
		field, condition, value, address, says string
		lists                                  []string
	}{
		{"active", "is", "false", "?active=false", "Active is No", []string{"Cleo B", "Ben"}},
		{"active", "is!", "true", "?active%21=true", "Active is not Yes", []string{"Cleo B", "Ben"}},
		{"role", "is", "board", "?role=board", "Role is board", []string{"Ada"}},
		{"role", "empty", "", "?role=", "Role is empty", []string{"Cleo B", "Ben"}},
		{"joined", "from", "2026-01-01", "?joined_from=2026-01-01", "Joined on or after 1 Jan 2026", []string{"Ben"}},
		{"joined", "to", "2026-01-01", "?joined_to=2026-01-01", "Joined before 1 Jan 2026", []string{"Ada"}},
		{"joined", "is", "2019-03-31", "?joined=2019-03-31", "Joined is 31 Mar 2019", []string{"Ada"}},
		{"level", "from", "9.50", "?level_from=9.5", "Level at least 9.5", []string{"Ben", "Ada"}},
		{"level", "to", "9.5", "?level_to=9.5", "Level less than 9.5", []string{"Cleo B"}},
		{"site", "is", "https://cleo.example", "?site=https%3A%2F%2Fcleo.example", "Site is https://cleo.example", []string{"Cleo B"}},
	} {
		ada.filters(c.field, c.condition, c.value).lists(c.lists...)
		ada.expect("the address", evaluate[string](ada, `location.search`), c.address)
		ada.reloads().lists(c.lists...)
		ada.clicks("button", "Remove the filter "+c.says).lists("Cleo B", "Ben", "Ada")
	}
	ada.filters("level", "from", "1").filters("level", "to", "10").lists("Ben")
	ada.clicks("button", "Filter").chooses("Field", "role").check()
	ada.open("/").lists("Cleo B", "Ben", "Ada")

	for _, c := range []struct{ field, label, value, stored string }{
		{"active", "Active", "true", `"active":true,"joined":"2026-01-01","level":9.5,"site":null,"role":null`},
		{"role", "Role", "staff", `"active":false,"joined":"2026-01-01","level":9.5,"site":null,"role":"staff"`},
		{"joined", "Joined", "12122026", `"active":false,"joined":"2026-12-12","level":9.5,"site":null,"role":null`},
		{"level", "Level", "3.0", `"active":false,"joined":"2026-01-01","level":3,"site":null,"role":null`},
	} {
		ada.clicks("checkbox", "Select Ada").clicks("checkbox", "Select Ben")
		ada.opens("Set a field", "Set a field of 2 users").chooses("Field", c.field)
		if c.field == "active" || c.field == "role" {
			ada.chooses("New value", c.value).check()
		} else {
			ada.fills("New value", c.value)
		}
		ada.clicks("button", "Set "+c.label+" for 2 users").reads("2 users changed")
		ada.stores(p, 2, c.stored)
		ada.clicks("button", "Undo").reads("2 users changed back")
		ada.stores(p, 2, `"active":false,"joined":"2026-01-01","level":9.5,"site":null,"role":null`)
	}

	ada.imports("people.csv", "name,email,active,joined\nDan,dan@example.org,WAHR,2020-02-29\nEve,eve,,2025-31-12\n")
	ada.sees("cell", "joined must be a date such as 2026-12-31")
	ada.clicks("button", "Import the other 1")
	ada.stores(p, 4, `"active":true,"joined":"2020-02-29","level":null,"site":null,"role":null`)
	ada.clicks("button", "Close")

	ada.imports("Verein.csv",
		"Name;E-Mail;Eintritt;Aktiv;Bezahlt\nFay;fay@example.org;1.2.2020;WAHR;ja\nGus;gus@example.org;31.12.2026;FALSCH;x\n")
	ada.reads("Choose above what is in Eintritt, Aktiv, Bezahlt. Or whoever runs the service")
	ada.chooses("Bezahlt is", "level").reads("2 of 2 rows cannot be imported", ", or choose “Leave out” for a column.")
	ada.chooses("Bezahlt is", "").chooses("Aktiv is", "active").chooses("Eintritt is", "joined")
	ada.sees("cell", "2026-12-31") // as it will be stored
	ada.clicks("button", "Import 2 users").reads("2 users added")
	ada.stores(p, 5, `"active":true,"joined":"2020-02-01","level":null,"site":null,"role":null`)
	ada.stores(p, 6, `"active":false,"joined":"2026-12-31","level":null,"site":null,"role":null`)
}
