package scim

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
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
		{"the extension is a path", `{"op":"add","path":"` + enterprise + `","value":{"department":"D","division":"M"}}`, `"division":"M","department":"D"`},
		{"and with an attribute", `{"op":"add","path":"` + strings.ToUpper(enterprise) + `:employeeNumber","value":"7"}`, `"employee_number":"7"`},
		{"it is taken away with all of its attributes", `{"op":"remove","path":"` + enterprise + `"}`, `"cost_center":null`},
		{"the schema may be before an attribute", `{"op":"add","path":"` + core + `:locale","value":"en"}`, `"locale":"en"`},
		{"the email of the type work", `{"op":"Replace","path":"emails[type eq \"work\"].value","value":"new@x"}`, `"email":"new@x"`},
		{"as an object", `{"op":"Replace","path":"emails[type eq \"work\"]","value":{"value":"new2@x"}}`, `"email":"new2@x"`},
		{"one that is added without being primary changes nothing", `{"op":"add","path":"emails","value":[{"value":"home@x","type":"home"}]}`, `"email":"EMAIL"`},
		{"a primary one without a path takes its place", `{"op":"add","value":{"emails":[{"value":"home@x"},{"value":"new5@x","primary":true}]}}`,
			`"email":"new5@x"`},
		{"one that is added as the one of the type work does, too", `{"op":"add","value":{"emails[type eq \"work\"]":{"value":"new6@x"}}}`, `"email":"new6@x"`},
		{"one that is added after a removal is the first", `{"op":"remove","path":"emails"},{"op":"add","path":"emails","value":[{"value":"new7@x"}]}`,
			`"email":"new7@x"`},
		{"another email is dropped", `{"op":"add","path":"emails[type eq \"home\"].value","value":"home@x"}`, `"email":"EMAIL"`},
		{"the type has any letter case", `{"op":"replace","path":"emails[type eq \"Work\"].value","value":"new8@x"}`, `"email":"new8@x"`},
		{"the email is primary", `{"op":"replace","path":"emails[primary eq \"True\"].value","value":"new9@x"}`, `"email":"new9@x"`},
		{"it has its value", `{"op":"replace","path":"Emails[Value EQ \"EMAIL\"].value","value":"new10@x"}`, `"email":"new10@x"`},
		{"in any letter case", `{"op":"replace","path":"emails[value eq \"UPPER\" and primary eq true]","value":{"value":"new11@x"}}`, `"email":"new11@x"`},
		{"or all that every email has", `{"op":"replace","path":"emails[type eq \"home\" or value pr].value","value":"new12@x"}`, `"email":"new12@x"`},
		{"and not another", `{"op":"replace","path":"emails[not (value eq \"EMAIL\")].value","value":"home@x"}`, `"email":"EMAIL"`},
		{"one that is not primary is not there", `{"op":"replace","path":"emails[primary eq false].value","value":"home@x"}`, `"email":"EMAIL"`},
		{"a removal of another address removes nothing", `{"op":"remove","path":"emails[value eq \"home@x\"]"}`, `"email":"EMAIL"`},
		{"nor one that names it as a value", `{"op":"remove","path":"emails","value":[{"value":"home@x"}]}`, `"email":"EMAIL"`},
		{"also alone", `{"op":"remove","path":"emails","value":{"value":"home@x","type":"work"}}`, `"email":"EMAIL"`},
		{"a removal of the own address removes it", `{"op":"remove","path":"emails[value eq \"EMAIL\"]"}`, `"email":"USER"`},
		{"also as a value", `{"op":"remove","path":"emails","value":[{"value":"UPPER","primary":true}]}`, `"email":"USER"`},
		{"a removal without a value means every email", `{"op":"remove","path":"emails","value":null}`, `"email":"USER"`},
		{"an email that is taken away becomes the userName", `{"op":"remove","path":"emails[type eq \"work\"]"}`, `"email":"USER"`},
		{"active is a boolean", `{"op":"replace","path":"active","value":false}`, `"active":"false"`},
		{"or a text in any letter case", `{"op":"replace","value":{"active":"FALSE"}}`, `"active":"false"`},
		{"that may be true", `{"op":"replace","path":"active","value":"True"}`, `"active":"true"`},
		{"displayName is the name", `{"op":"replace","path":"displayName","value":"D"}`, `"name":"D"`},
		{"of both, displayName counts", `{"op":"replace","value":{"displayName":"D","name":{"formatted":"F"}}}`, `"name":"D"`},
		{"a new familyName makes a new name, as in a PUT", `{"op":"replace","path":"name.familyName","value":"K"}`, `"name":"K",…"family_name":"K"`},
		{"so do both parts", `{"op":"add","value":{"name.givenName":"G","name.familyName":"K"}}`, `"name":"G K",…"given_name":"G"`},
		{"but not beside a displayName", `{"op":"replace","value":{"displayName":"D","name":{"familyName":"K"}}}`, `"name":"D",…"family_name":"K"`},
		{"also the same one", `{"op":"replace","path":"displayName","value":"N"},{"op":"replace","path":"name.familyName","value":"K"}`, `"name":"N",…"family_name":"K"`},
		{"nor the same parts", `{"op":"replace","path":"name","value":{"givenName":null}}`, `"name":"N"`},
		{"nor a removal", `{"op":"remove","path":"name"}`, `"name":"N"`},
		{"an empty externalId is none", `{"op":"replace","path":"externalId","value":""}`, `"external_id":null`},
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
		replace := strings.NewReplacer(`"ID"`, `"`+id+`"`, `"USER"`, fmt.Sprintf(`"user-%d"`, i), `"EMAIL"`, fmt.Sprintf(`"e%d@x"`, i),
			`EMAIL\"`, fmt.Sprintf(`e%d@x\"`, i), `UPPER`, fmt.Sprintf("E%d@X", i))
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
		{"a part of a part", `{"op":"add","path":"title.x.y","value":"x"}`, "invalidPath", "…"},
		{"a path without a name", `{"op":"add","path":"[type eq \"work\"]","value":"x"}`, "invalidPath", "…"},
		{"what is no filter", `{"op":"add","path":"emails[type is \"work\"]","value":"x"}`, "invalidPath", "…"},
		{"a bracket that never closes", `{"op":"add","path":"emails[type eq \"work\".value","value":"x"}`, "invalidPath", "…"},
		{"a removal without a path", `{"op":"remove"}`, "invalidPath", "…"},
		{"no value", `{"op":"replace","path":"title"}`, "invalidValue", "…"},
		{"a number", `{"op":"replace","path":"title","value":1}`, "invalidValue", "title must be a text, not a number"},
		{"an object that is a text", `{"op":"replace","path":"` + enterprise + `","value":"x"}`, "invalidValue", enterprise + " must be an object, not a string"},
		{"another id", `{"op":"replace","path":"id","value":"2"}`, "mutability", "id cannot be changed"},
		{"an empty userName", `{"op":"replace","path":"userName","value":""}`, "mutability", "userName cannot be taken away"},
		{"active that is taken away", `{"op":"Remove","path":"Active"}`, "mutability", "active cannot be taken away"},
		{"an unknown op", `{"op":"move","path":"title","value":"x"}`, "invalidSyntax", `An op must be add, replace or remove, not \"move\"`},
		{"brackets without end", `{"op":"add","path":"` + strings.Repeat("emails[", 100_000) + `","value":"x"}`, "invalidPath", "…"},
		{"a deep value", `{"op":"add","value":{"title":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}}`, "invalidValue", "…"},
	} {
		expect(t, p, exchange{test.name, "PATCH /Users/1", operations(`{"op":"replace","path":"title","value":"new"},` + test.operation),
			refused(400, test.word, test.detail)})
	}
	for _, body := range []string{`{}`, "", `{"Operations":[]}`, `{"Operations":{}}`, `{"Operations":null}`, `[]`, `{"Operations":[`} {
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

// A user that was created by hand may have no user_name.
func TestAUserWithoutAUserNameIsShownWithTheEmail(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "USER_FIELDS="+needed+",user_name")
	p.Create(t, "Ada", "ada@x")
	expect(t, p, exchange{"the email is shown", "GET /Users/1", "", `200 {…"userName":"ada@x"}`},
		exchange{"what changes nothing", "PATCH /Users/1", operations(`{"op":"replace","path":"displayName","value":"Ada"}`), `200 {…"userName":"ada@x"}`})
	for _, operation := range []string{`{"op":"remove","path":"emails"}`, `{"op":"replace","path":"emails","value":[]}`,
		`{"op":"replace","path":"emails[type eq \"work\"].value","value":""}`, `{"op":"remove","path":"displayName"},{"op":"remove","path":"name"}`} {
		expect(t, p, exchange{"it keeps its name and email", "PATCH /Users/1", operations(operation), `200 {…"displayName":"Ada",…"value":"ada@x"…}`})
	}
	expectFeed(t, p, "a PATCH that changes nothing", []string{"created 1"})
	expect(t, p, exchange{"it is the userName", `GET /Users?filter=userName eq "ada@x"`, "", `200 {…"totalResults":1,…`},
		exchange{"also when it is sent", "PATCH /Users/1", operations(`{"op":"add","path":"userName","value":"ada@x"}`), "200 …"},
		exchange{"and stored", `GET /Users?filter=userName eq "ada@x"`, "", `200 {…"totalResults":1,…`})
}

// Of two changes at once, one comes last: the user is never half of each.
func TestReplacementsAtOnceAreNotMixed(t *testing.T) {
	t.Parallel()
	p := serve(t, all)
	p.Do(t, "POST", users, `{"userName":"ada"}`)
	replacement := func(title, locale string) string {
		return fmt.Sprintf(`{"userName":"ada","title":"%s","userType":"%[1]s","locale":"%s","timezone":"%[2]s"}`, title, locale)
	}
	for range program.Times(25, 250) {
		expect(t, p, exchange{"half of each", "PUT /Users/1", replacement("a", "b"), "200 …"})
		var wait sync.WaitGroup
		for _, text := range []string{"a", "b"} {
			wait.Go(func() { p.Do(t, "PUT", users+"/1", replacement(text, text)) })
		}
		wait.Wait()
		user := send(t, p, "GET /api/users/1", "")
		if as, bs := strings.Count(user, `"a"`), strings.Count(user, `"b"`); as+bs != 4 || as*bs != 0 {
			t.Fatalf("the user is %s", user)
		}
	}
}

// pick returns one of some texts.
func pick(random *rand.Rand, texts ...string) string { return texts[random.IntN(len(texts))] }

// patcher is npm's scim-patch: it gets a user and operations in each line, and returns the user or null.
const patcher = `
const {scimPatch} = require(process.argv[1])
require("readline").createInterface({input: process.stdin}).on("line", line => {
  const {user, operations} = JSON.parse(line)
  let result = null
  try { result = scimPatch(user, operations, {mutateDocument: false, treatMissingAsAdd: true}) } catch (refused) {}
  console.log(JSON.stringify(result))
})`

// randomOperation returns an operation that scim-patch and the service understand in the same way. It leaves out
//   - what the service refuses and scim-patch does not know: other attributes, values of another type, a user without a userName;
//   - name.formatted, which is another word for displayName here;
//   - the schema of the extension alone as a path, which scim-patch takes apart at its last colon;
//   - active that is taken away: the service refuses that;
//   - emails without an @, which the service does not show.
func randomOperation(random *rand.Rand) map[string]any {
	text := pick(random, "A", "B", "", "ü\"\\", "c@x", "d@x")
	operation := map[string]any{"op": pick(random, "add", "Add", "replace", "Replace", "remove", "Remove"), "value": text}
	path := pick(random, "title", "locale", "externalId", "name.givenName", "name.familyName", core+":timezone", enterprise+":department",
		`emails[type eq "work"].value`, "displayName", "userName", "active", "name", "", "emails")
	operation["path"] = path
	switch path {
	case "userName", "displayName":
		operation["op"], operation["value"] = pick(random, "add", "replace"), "x"+text
	case `emails[type eq "work"].value`:
		operation["op"], operation["value"] = pick(random, "add", "replace"), fmt.Sprintf("w%d@x", random.Uint32())
	case "active":
		operation["op"], operation["value"] = "replace", random.IntN(2) == 0
		if random.IntN(2) == 0 {
			operation["value"] = pick(random, "True", "False")
		}
	case "name":
		operation["value"] = map[string]any{pick(random, "givenName", "familyName"): text}
	case "":
		operation["op"], operation["value"] = pick(random, "add", "replace"), map[string]any{
			pick(random, "title", "name.givenName", core+":locale"): text, enterprise + ":division": text, "displayName": "y" + text}
	case "emails":
		operation["op"] = pick(random, "add", "replace")
		operation["value"] = []any{map[string]any{"value": fmt.Sprintf("f%d@x", random.Uint32()), "type": "work"},
			map[string]any{"value": fmt.Sprintf("p%d@x", random.Uint32()), "type": "work", "primary": random.IntN(2) == 0}}
	}
	if strings.EqualFold(fmt.Sprint(operation["op"]), "remove") {
		delete(operation, "value")
	}
	return operation
}

// flat returns what the service keeps of a user.
func flat(user map[string]any) map[string]any {
	kept := map[string]any{}
	for _, name := range []string{"userName", "externalId", "title", "locale", "timezone", "active", "displayName"} {
		kept[name] = user[name]
	}
	if text, isText := user["active"].(string); isText {
		kept["active"] = text == "True"
	}
	names, _ := user["name"].(map[string]any)
	kept["given"], kept["family"] = names["givenName"], names["familyName"]
	more, _ := user[enterprise].(map[string]any)
	kept["department"], kept["division"] = more["department"], more["division"]
	emails, _ := user["emails"].([]any)
	for i, email := range emails {
		if email := email.(map[string]any); i == 0 || email["primary"] == true {
			kept["email"] = email["value"]
		}
	}
	for name, value := range kept {
		if value == "" { // which is none
			kept[name] = nil
		}
	}
	return kept
}

// named gives a user the name that its new parts make, which scim-patch leaves to the service.
func named(before, user map[string]any, operations string) map[string]any {
	name := strings.Trim(strings.ReplaceAll(fmt.Sprint(user["given"], " ", user["family"]), "<nil>", ""), " ")
	part := func(of map[string]any, name string) string {
		return strings.ReplaceAll(fmt.Sprint(of[name]), "<nil>", "")
	}
	isNew := part(user, "given") != part(before, "given") || part(user, "family") != part(before, "family")
	if isNew && name != "" && !strings.Contains(operations, "displayName") {
		user["displayName"] = name
	}
	return user
}

func TestAPatchMakesWhatAnotherImplementationMakes(t *testing.T) {
	t.Parallel()
	library := os.Getenv("SCIM_PATCH")
	if _, err := exec.LookPath("node"); err != nil || library == "" {
		t.Skip("needs node, and SCIM_PATCH, which names the directory of npm's scim-patch")
	}
	node := exec.Command("node", "-e", patcher, library)
	node.Stderr = os.Stderr
	to, err := node.StdinPipe()
	from, failed := node.StdoutPipe()
	program.Must(t, errors.Join(err, failed, node.Start()))
	t.Cleanup(func() { _, _ = to.Close(), node.Wait() })
	results := json.NewDecoder(from)
	p := serve(t, all)
	p.Do(t, "POST", users, `{"userName":"ada","displayName":"Ada","title":"T","active":true,"emails":[{"value":"a@x"}]}`)
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for range program.Times(1000, 20_000) {
		var before, want, got map[string]any
		program.Must(t, json.Unmarshal([]byte(p.Do(t, "GET", users+"/1", "").Body), &before))
		var operations []any
		for range 1 + random.IntN(4) {
			operations = append(operations, randomOperation(random))
		}
		line, _ := json.Marshal(map[string]any{"user": before, "operations": operations})
		_, err := fmt.Fprintf(to, "%s\n", line)
		program.Must(t, errors.Join(err, results.Decode(&want)))
		body, _ := json.Marshal(map[string]any{"Operations": operations})
		answer := p.Do(t, "PATCH", users+"/1", string(body))
		if want == nil || answer.Status != 200 {
			t.Fatalf("with seed %d, %s of %v is answered %v, and scim-patch makes %v", seed, body, before, answer, want)
		}
		program.Must(t, json.Unmarshal([]byte(answer.Body), &got))
		if got, want := flat(got), named(flat(before), flat(want), string(body)); !maps.Equal(got, want) {
			t.Fatalf("with seed %d, %s of\n%v makes\n%v, and scim-patch\n%v", seed, body, flat(before), got, want)
		}
	}
}
