package scim

import (
	"fmt"
	"strings"
	"testing"

	"users-api/tests/program"
)

// What people and spreadsheets write for false is false, so that nobody who left keeps access.
func TestAWordForFalseDeactivatesAUser(t *testing.T) {
	t.Parallel()
	p := serve(t, needed)
	rows := "name,email,active,external_id\n"
	for i, word := range []string{"FALSE", "0", "no", "Falsch", "FAUX", "falso", "Onwaar", "TRUE", "yes", "", "-", "00", "ＦＡＬＳＥ"} {
		rows += fmt.Sprintf("n,%d@x,%s,e\n", i+1, word)
	}
	p.Do(t, "POST", program.CSV, rows).Expect(t, 200, "…")
	const inactive, active = "1 2 3 4 5 6 7", "8 9 10 11 12 13"
	for filter, want := range map[string]string{
		`active eq false`: inactive, `active ne true`: inactive, `active eq true`: active, `not (active eq false)`: active,
	} {
		program.Expect(t, "whom "+filter+" finds", found(t, p, filter), want)
	}
	list := send(t, p, "GET /Users", "")
	program.Expect(t, "how many are shown as inactive", strings.Count(list, `"active":false`), 7)
	expect(t, p, exchange{"a word is kept by what does not name it", "PATCH /Users/1", operations(`{"op":"replace","path":"externalId","value":"f"}`), `200 {"active":false,…`},
		exchange{"also by a PUT", "PUT /Users/1", `{"userName":"1@x","displayName":"n","externalId":"f"}`, `200 {"active":false,…`},
		exchange{"as it was stored", "GET /api/users/1", "", `200 {…"active":"FALSE"}`},
		exchange{"and written as true or false", "PATCH /Users/1", operations(`{"op":"replace","path":"active","value":true}`), `200 {"active":true,…`},
		exchange{"in small letters", "GET /api/users/1", "", `200 {…"active":"true"}`})
}

// What a provider sends is read as the API reads a text, and shown as RFC 7643 has it.
func TestAFieldWithATypeTakesItsValuesAlone(t *testing.T) {
	t.Parallel()
	p := serve(t, "external_id,active:boolean,title:Chair|Member,employee_number:number")
	const person = `{"userName":"a@x","title":"%s","%s":{"employeeNumber":"%s"},"active":%s}`
	send := func(title, number, active string) string {
		return fmt.Sprintf(person, title, enterprise, number, active)
	}
	chair := refused(400, "invalidValue", "title must be Chair or Member, or null")
	expect(t, p, exchange{"a value that is none", "POST /Users", send("Boss", "1", "true"), chair},
		exchange{"a number that is none", "POST /Users", send("", "A1", "true"), refused(400, "invalidValue", "employee_number must be a number or null")},
		exchange{"values", "POST /Users", send("chair", "7.0", "false"), `201 {"active":false,…"title":"Chair","…{"employeeNumber":"7"}…}`},
		exchange{"as the API shows them", "GET /api/users/1", "", `200 {…"active":false,"title":"Chair","employee_number":7}`},
		exchange{"a PUT", "PUT /Users/1", send("Boss", "1", "true"), chair},
		exchange{"a PATCH", "PATCH /Users/1", operations(`{"op":"replace","path":"title","value":"Boss"}`), chair},
		exchange{"a PATCH with a value", "PATCH /Users/1", operations(`{"op":"replace","value":{"title":"MEMBER","active":"True"}}`), `200 {"active":true,…"title":"Member",…`},
		exchange{"a filter compares what is stored", `GET /Users?filter=title eq "Member" and active eq true`, "", `200 {…"totalResults":1,…`})
}

// One rule says what a userName is, wherever it is shown, looked for, or taken: the email of whoever has no user_name.
func TestAnEmailStandsForAUserNameThatIsMissing(t *testing.T) {
	t.Parallel()
	p := serve(t, needed+",user_name")
	for i, userName := range []string{`null`, `""`, `"carol"`, `"ada@x"`} { // the last has the userName of the first, by another program
		p.Do(t, "POST", "/api/users", fmt.Sprintf(`{"name":"N","email":"%s","user_name":%s}`, []string{"ada@x", "bob@x", "carol@x", "dan@x"}[i], userName))
	}
	for filter, ids := range map[string]string{
		`userName eq "bob@x"`: "2", `userName eq "carol@x"`: "", `userName eq "ada@x"`: "1 4", `userName eq "BOB@x"`: "", `userName ne "bob@x"`: "1 3 4",
		`userName co "@"`: "1 2 4", `userName pr`: "1 2 3 4", `userName gt "bob@x"`: "3", `userName eq ""`: "", `not (userName eq "bob@x")`: "1 3 4",
	} {
		program.Expect(t, "whom "+filter+" finds", found(t, p, filter), ids)
	}
	taken := refused(409, "uniqueness", "Another user has this userName")
	before := send(t, p, "GET /api/users", "")
	expect(t, p, exchange{"a user by hand is shown with the email", "GET /Users/2", "", `200 {…"userName":"bob@x"}`},
		exchange{"which is taken", "POST /Users", `{"userName":"bob@x","emails":[{"value":"new@x"}]}`, taken},
		exchange{"as is a user_name without an index", "POST /Users", `{"userName":"carol","emails":[{"value":"new@x"}]}`, taken},
		exchange{"also for a PUT", "PUT /Users/3", `{"userName":"bob@x","emails":[{"value":"carol@x"}]}`, taken},
		exchange{"a PATCH", "PATCH /Users/3", operations(`{"op":"replace","path":"userName","value":"bob@x"}`), taken},
		exchange{"and that of an email that would be one", "PATCH /Users/2", operations(`{"op":"replace","path":"emails","value":[{"value":"carol"}]}`), taken},
		exchange{"nothing was changed", "GET /api/users", "", before},
		exchange{"the email of somebody with another userName is free", "POST /Users", `{"userName":"carol@x","emails":[{"value":"new@x"}]}`, `201 {…"userName":"carol@x"}`},
		exchange{"what changes nothing", "PATCH /Users/2", operations(`{"op":"replace","path":"displayName","value":"N"}`), `200 {…"userName":"bob@x"}`})
	for _, operation := range []string{`{"op":"remove","path":"emails"}`, `{"op":"replace","path":"emails","value":[]}`,
		`{"op":"replace","path":"emails[type eq \"work\"].value","value":""}`, `{"op":"remove","path":"displayName"},{"op":"remove","path":"name"}`} {
		expect(t, p, exchange{"a name and an email stay", "PATCH /Users/2", operations(operation), `200 {…"displayName":"N",…"value":"bob@x"…}`})
	}
	expect(t, p, exchange{"which writes nothing", "GET /api/users/2/changes", "", `200 {"changes":[{…"op":"created",…}]}`},
		exchange{"nor a user_name", "GET /api/users/2", "", `200 {…"user_name":""}`},
		exchange{"a provider links whom it has found", "PUT /Users/2", `{"userName":"bob@x","externalId":"b","emails":[{"value":"bob@x"}]}`, `200 {…"userName":"bob@x"}`},
		exchange{"what two have already can stay", "PUT /Users/4", `{"userName":"ada@x","externalId":"d","emails":[{"value":"dan@x"}]}`, `200 {…"userName":"ada@x"}`})
}
