package scim

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"users-api/tests/program"
)

// operations is the body of a PATCH.
func operations(all string) string {
	return `{"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":[` + all + `]}`
}

func TestAPatchChangesWhatItNames(t *testing.T) {
	t.Parallel()
	p := serve(t, all)
	for i, test := range []struct{ name, operations, want string }{
		{"a value is replaced", `{"op":"replace","path":"title","value":"T"}`, `"title":"T"`},
		{"or added, in any letter case", `{"OP":"Add","Path":"TITLE","Value":"T"}`, `"title":"T"`},
		{"or taken away", `{"op":"Remove","path":"title"}`, `"title":null`},
		{"an object of attributes needs no path", `{"op":"replace","value":{"title":"T","name":{"givenName":"G"}}}`, `"given_name":"G",…"title":"T"`},
		{"nor do keys with dots", `{"op":"Add","value":{"name.familyName":"F","` + enterprise + `:department":"D"}}`, `"family_name":"F",…"department":"D"`},
		{"and with an attribute", `{"op":"add","path":"` + strings.ToUpper(enterprise) + `:employeeNumber","value":"7"}`, `"employee_number":"7"`},
		{"the email of the type work", `{"op":"Replace","path":"emails[type eq \"work\"].value","value":"new@x"}`, `"email":"new@x"`},
		{"one that is added without being primary changes nothing", `{"op":"add","path":"emails","value":[{"value":"home@x","type":"home"}]}`, `"email":"EMAIL"`},
		{"a primary one without a path takes its place", `{"op":"add","value":{"emails":[{"value":"home@x"},{"value":"new5@x","primary":true}]}}`,
			`"email":"new5@x"`},
		{"one that is added after a removal is the first", `{"op":"remove","path":"emails"},{"op":"add","path":"emails","value":[{"value":"new7@x"}]}`,
			`"email":"new7@x"`},
		{"the type has any letter case", `{"op":"replace","path":"emails[type eq \"Work\"].value","value":"new8@x"}`, `"email":"new8@x"`},
		{"it has its value", `{"op":"replace","path":"Emails[Value EQ \"EMAIL\"].value","value":"new10@x"}`, `"email":"new10@x"`},
		{"and not another", `{"op":"replace","path":"emails[not (value eq \"EMAIL\")].value","value":"home@x"}`, `"email":"EMAIL"`},
		{"a removal of another address removes nothing", `{"op":"remove","path":"emails[value eq \"home@x\"]"}`, `"email":"EMAIL"`},
		{"a removal of the own address removes it", `{"op":"remove","path":"emails[value eq \"EMAIL\"]"}`, `"email":"USER"`},
		{"an email that is taken away becomes the userName", `{"op":"remove","path":"emails[type eq \"work\"]"}`, `"email":"USER"`},
		{"active is a boolean", `{"op":"replace","path":"active","value":false}`, `"active":"false"`},
		{"displayName is the name", `{"op":"replace","path":"displayName","value":"D"}`, `"name":"D"`},
		{"a new familyName makes a new name, as in a PUT", `{"op":"replace","path":"name.familyName","value":"K"}`, `"name":"K",…"family_name":"K"`},
		{"but not beside a displayName", `{"op":"replace","value":{"displayName":"D","name":{"familyName":"K"}}}`, `"name":"D",…"family_name":"K"`},
		{"without a name the parts are it", `{"op":"add","path":"name","value":{"givenName":"G","familyName":"K","formatted":null}},{"op":"remove","path":"displayName"}`,
			`"name":"G K"`},
		{"later operations see earlier ones", `{"op":"add","path":"title","value":"A"},{"op":"remove","path":"title"},{"op":"add","path":"title","value":"B"}`,
			`"title":"B"`},
		{"what no field holds is dropped", `{"op":"add","path":"phoneNumbers[type eq \"work\"].value","value":"1"},{"op":"add","path":"password","value":"p"},` +
			`{"op":"add","path":"roles","value":[{"value":"admin"}]},{"op":"add","path":"` + enterprise + `:manager.value","value":"1"},` +
			`{"op":"replace","value":{"nickName":"N","urn:example:x":{"a":1},"favourite":1}}`, `"name":"N"`},
		{"with a path, too, and the rest counts", `{"op":"add","path":"favourite","value":1},{"op":"remove","path":"title.x"},{"op":"replace",` +
			`"path":"urn:ietf:params:scim:schemas:extension:okta:2.0:User:colour","value":"red"},{"op":"add","path":"title[type eq \"x\"]","value":"x"},` +
			`{"op":"add","path":"members[value eq \"1\"].$ref","value":"x"},{"op":"replace","path":"active","value":"False"}`, `"active":"false",…"title":"old"`},
	} {
		id := fmt.Sprint(i + 1)
		p.Do(t, "POST", users, fmt.Sprintf(`{"userName":"user-%d","displayName":"N","title":"old","emails":[{"value":"e%d@x"}],"%s":{"costCenter":"1"}}`, i, i, enterprise))
		replace := strings.NewReplacer(`"USER"`, fmt.Sprintf(`"user-%d"`, i), "EMAIL", fmt.Sprintf("e%d@x", i))
		expect(t, p,
			exchange{test.name, "PATCH /Users/" + id, operations(replace.Replace(test.operations)), `200 {…"id":"` + id + `",…}`},
			exchange{test.name, "GET /api/users/" + id, "", "200 {…" + replace.Replace(test.want) + "…}"})
	}
}

func TestOfAPatchAllOperationsAreCarriedOutOrNone(t *testing.T) {
	t.Parallel()
	p := serve(t, all)
	p.Do(t, "POST", users, `{"userName":"ada","title":"old"}`)
	before := send(t, p, "GET /api/users/1", "")
	for _, test := range []struct{ name, operation, word, detail string }{
		{"what is no path", `{"op":"add","path":"a b","value":"x"}`, "invalidPath", `\"a b\" is no path of an attribute`},
		{"a path without a name", `{"op":"add","path":"[type eq \"work\"]","value":"x"}`, "invalidPath", "…"},
		{"a removal without a path", `{"op":"remove"}`, "invalidPath", "…"},
		{"no value", `{"op":"replace","path":"title"}`, "invalidValue", "…"},
		{"an object that is a text", `{"op":"replace","path":"` + enterprise + `","value":"x"}`, "invalidValue", enterprise + " must be an object, not a string"},
		{"another id", `{"op":"replace","path":"id","value":"2"}`, "mutability", "id cannot be changed"},
		{"active that is taken away", `{"op":"Remove","path":"Active"}`, "mutability", "active cannot be taken away"},
		{"an unknown op", `{"op":"move","path":"title","value":"x"}`, "invalidSyntax", `An op must be add, replace or remove, not \"move\"`},
		{"brackets without end", `{"op":"add","path":"` + strings.Repeat("emails[", 100_000) + `","value":"x"}`, "invalidPath", "…"},
		{"a deep value", `{"op":"add","value":{"title":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}}`, "invalidValue", "…"},
	} {
		expect(t, p, exchange{test.name, "PATCH /Users/1", operations(`{"op":"replace","path":"title","value":"new"},` + test.operation),
			refused(400, test.word, test.detail)})
	}
	for _, body := range []string{"", `{"Operations":[]}`, `{"Operations":{}}`, `[]`, `{"Operations":[`} {
		expect(t, p, exchange{"a body " + body, "PATCH /Users/1", body, refused(400, "invalidSyntax", "…")})
	}
	program.Expect(t, "the user", send(t, p, "GET /api/users/1", ""), before)
	many := strings.Repeat(`{"op":"add","path":"title","value":"x"},`, 10_000) + `{"op":"add","path":"title","value":"last"}`
	deep := `{"op":"add","value":` + strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000) + `}`
	expect(t, p, exchange{"10,000 operations", "PATCH /Users/1", operations(many), `200 {…"title":"last",…}`},
		exchange{"a deep object that is dropped", "PATCH /Users/1", operations(deep), `200 {…"title":"last",…}`})
}

// Where there is no field user_name, the userName is the email.
func TestAUserNameThatIsTheEmailChangesWithIt(t *testing.T) {
	t.Parallel()
	p := serve(t, needed)
	p.Do(t, "POST", users, `{"userName":"ada@x","displayName":"Ada","externalId":"a"}`)
	expect(t, p,
		exchange{"the userName is the email", "PATCH /Users/1", operations(`{"op":"replace","path":"userName","value":"b@x"}`), "200 " + shown(1, "b@x", "Ada", "a", true)},
		exchange{"the email is the userName", "PATCH /Users/1", operations(`{"op":"replace","path":"emails[type eq \"work\"].value","value":"c@x"}`),
			"200 " + shown(1, "c@x", "Ada", "a", true)},
		exchange{"of both, the email counts", "PATCH /Users/1", operations(`{"op":"replace","value":{"emails":[{"value":"d@x"}],"userName":"e@x"}}`),
			"200 " + shown(1, "d@x", "Ada", "a", true)},
		exchange{"in a PUT, too", "PUT /Users/1", `{"userName":"f@x","displayName":"Ada","externalId":"a","emails":[{"value":"g@x"}]}`,
			"200 " + shown(1, "g@x", "Ada", "a", true)},
		exchange{"the letter case comes back", "PUT /Users/1", `{"userName":"G@X","displayName":"Ada","externalId":"a"}`, "200 " + shown(1, "G@X", "Ada", "a", true)})
}

// Of two changes at once, one comes last: the user is never half of each.
func TestReplacementsAtOnceAreNotMixed(t *testing.T) {
	t.Parallel()
	p := serve(t, all)
	p.Do(t, "POST", users, `{"userName":"ada"}`)
	replace := func(title, locale string) {
		p.Do(t, "PUT", users+"/1", fmt.Sprintf(`{"userName":"ada","title":"%s","userType":"%[1]s","locale":"%s"}`, title, locale))
	}
	for range program.Times(25, 250) {
		replace("a", "b")
		var wait sync.WaitGroup
		wait.Go(func() { replace("a", "a") })
		wait.Go(func() { replace("b", "b") })
		wait.Wait()
		user := send(t, p, "GET /api/users/1", "")
		if as, bs := strings.Count(user, `"a"`), strings.Count(user, `"b"`); as+bs != 3 || as*bs != 0 {
			t.Fatalf("the user is %s", user)
		}
	}
}
