//go:build browser

package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

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
		"Ben\nben@example.org\n1912")
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
	ada.changes("Ada", "Tag", "a tag")
	ada.opens("Delete Ada", "Delete this user?")
	ada.expect("who would be deleted", evaluate[string](ada, `document.querySelector('#delete .people').innerText`),
		"Ada\nada@example.org\na tag\nnew constructor\nnew to_string")
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
