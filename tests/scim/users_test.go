package scim

import (
	"fmt"
	"strings"
	"testing"

	"users-api/tests/program"
)

func TestWithoutItsFieldsEveryPathIsA404ThatSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for _, fields := range []string{"", "external_id", "active", "room"} {
		p := serve(t, fields)
		for _, request := range []string{"GET /Users", "POST /Users", "DELETE /Users/1", "GET /Groups", "POST /Groups", "GET /Schemas",
			"GET /nothing", "BREW /Users", "GET "} {
			expect(t, p, exchange{"with " + fields, request, "{", refused(404, "", "…run `users-api add-field external_id`…")})
		}
	}
	p := serve(t, needed)
	expect(t, p, exchange{"with both", "GET /Users", "", "200 " + list(0, 1)})
}

// A user is written, and each attribute comes back where it was sent.
func TestEveryAttributeThatAFieldHoldsComesBack(t *testing.T) {
	t.Parallel()
	p := serve(t, all)
	const sent = `{"schemas":["` + core + `"],"USERNAME":"ADA.L","externalId":"a1","displayName":"Ada King","password":"secret",` +
		`"name":{"formatted":"Augusta Ada King","givenName":"Ada","familyName":"King","middleName":"A"},"nickName":"Ada",` +
		`"emails":[{"value":"home@x","type":"home"},{"value":"Ada@X.org","type":"work","primary":true}],"active":"False",` +
		`"title":"Countess","userType":"Employee","preferredLanguage":"en","locale":"en-GB","timezone":"Europe/London",` +
		`"phoneNumbers":[{"value":"1815"}],"favourite":{"colour":[1]},"id":"99","meta":{"location":"x"},` +
		`"` + enterprise + `":{"employeeNumber":"7","costCenter":"8","organization":"RS","division":"M","department":"A","manager":{"value":"1"}}}`
	const want = `{"active":false,"displayName":"Ada King","emails":[{"primary":true,"type":"work","value":"Ada@X.org"}],"externalId":"a1",` +
		`"id":"1","locale":"en-GB","meta":{"created":"T","location":"Users/1","resourceType":"User"},` +
		`"name":{"familyName":"King","formatted":"Ada King","givenName":"Ada"},"preferredLanguage":"en",` +
		`"schemas":["` + core + `","` + enterprise + `"],"timezone":"Europe/London","title":"Countess",` +
		`"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User":{"costCenter":"8","department":"A","division":"M","employeeNumber":"7",` +
		`"organization":"RS"},"userName":"ADA.L","userType":"Employee"}`
	created := p.Do(t, "POST", users, sent, "Content-Type: text/plain")
	program.ExpectHeader(t, created, "Location", "Users/1")
	program.ExpectLength(t, created)
	expect(t, p, exchange{"the user", "GET /Users/1", "", "200 " + want},
		exchange{"a list has it", "GET /Users", "", "200 " + list(1, 1, want)},
		exchange{"the fields", "GET /api/users/1", "", `200 {"id":1,"name":"Ada King","email":"Ada@X.org","created_at":"T","external_id":"a1",` +
			`"active":"false","user_name":"ADA.L","given_name":"Ada","family_name":"King","title":"Countess","user_type":"Employee",` +
			`"preferred_language":"en","locale":"en-GB","timezone":"Europe/London","employee_number":"7","cost_center":"8",` +
			`"organization":"RS","division":"M","department":"A","room":null}`},
		exchange{"a field that SCIM does not know", "PATCH /api/users/1", `{"room":"1815"}`, "200 …"},
		exchange{"is left by a PUT, as is active", "PUT /Users/1", `{"userName":"ADA.L","displayName":"Ada","title":null,"locale":""}`,
			`200 {"active":false,"displayName":"Ada","emails":[],"id":"1",` +
				`"meta":{"created":"T","location":"Users/1","resourceType":"User"},"name":{"formatted":"Ada"},"schemas":["` + core + `"],` +
				`"userName":"ADA.L"}`},
		exchange{"and all others are taken away", "GET /api/users/1", "",
			`200 {…,"external_id":null,"active":"false","user_name":"ADA.L","given_name":null,…"room":"1815"}`},
	)
	program.OpenOther(t, p.DatabasePath()).Do("UPDATE users SET created_at = NULL")
	expect(t, p, exchange{"a user without a time", "GET /Users/1", "", `200 {…"meta":{"location":"Users/1","resourceType":"User"},…`})
	head := p.Do(t, "HEAD", users+"/1", "")
	head.Expect(t, 200, "")
	program.ExpectHeader(t, head, "Content-Type", "application/scim+json")
}

func TestANameAndAnEmailAreFoundInWhatIsSent(t *testing.T) {
	t.Parallel()
	names, emails := serve(t, needed), serve(t, needed+",user_name")
	for i, test := range []struct{ name, members, want string }{
		{"displayName comes first", `"displayName":"D","name":{"formatted":"F","givenName":"G"}`, "D"},
		{"then the formatted name", `"displayName":"","name":{"formatted":"F","givenName":"G","familyName":"H"}`, "F"},
		{"then both names with a space between", `"name":{"formatted":"","givenName":"G","familyName":"H"}`, "G H"},
		{"then the userName", `"name":{"middleName":"M"}`, "user-3"},
	} {
		expect(t, names, exchange{test.name, "POST /Users", fmt.Sprintf(`{"userName":"user-%d",%s}`, i, test.members),
			`201 {…"displayName":"` + test.want + `",…`})
	}
	for i, test := range []struct{ name, members, want string }{
		{"the primary email", `"emails":[{"value":"1@x"},{"value":"2@x","primary":true},{"value":"3@x","primary":true}]`, "2@x"},
		{"else the first", `"emails":[{"value":"6@x","type":"home"},{"value":"7@x","type":"work","primary":false}]`, "6@x"},
		{"one email alone", `"emails":{"value":"8@x"}`, "8@x"},
		{"an email by its path", `"emails[type eq \"work\"].value":"9@x"`, "9@x"},
		{"else the userName", `"emails":[]`, "user-4"},
	} {
		id := fmt.Sprint(i + 1)
		expect(t, emails,
			exchange{test.name, "POST /Users", fmt.Sprintf(`{"userName":"user-%d",%s}`, i, test.members), fmt.Sprintf(`201 {…"userName":"user-%d"}`, i)},
			exchange{test.name, "GET /api/users/" + id, "", `200 {…"email":"` + test.want + `",…}`})
	}
}

// A provider that parses each email would stop at it.
func TestAnEmailWithoutAnAtIsNotShownAsOne(t *testing.T) {
	t.Parallel()
	p := serve(t, needed+",user_name")
	const none, one = `{…"emails":[],…"userName":"akadmin"}`, `{…"emails":[{"primary":true,"type":"work","value":"a@x"}],…"userName":"akadmin"}`
	expect(t, p,
		exchange{"of a user without an email", "POST /Users", `{"userName":"akadmin","externalId":"1","emails":[]}`, "201 " + none},
		exchange{"also where it was sent so", "PUT /Users/1", `{"userName":"akadmin","externalId":"1","emails":[{"value":"akadmin"}]}`, "200 " + none},
		exchange{"also in a list", "GET /Users", "", "200 {…" + `"emails":[],` + "…}"},
		exchange{"the first email that is added is it", "PATCH /Users/1", operations(`{"op":"add","path":"emails","value":[{"value":"a@x"}]}`), "200 " + one},
		exchange{"the second is not", "PATCH /Users/1", operations(`{"op":"add","path":"emails","value":[{"value":"b@x"}]}`), "200 " + one})
}

// Most mistakes are noticed before anything is stored.
func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	p := serve(t, needed+",user_name,title")
	for _, name := range []string{"user_name", "external_id"} {
		p.Run(t, "add-field", "--unique", name).MustSucceed(t)
	}
	expect(t, p,
		exchange{"Ada", "POST /Users", `{"userName":"ada","emails":[{"value":"ada@x"}],"externalId":"a"}`, "201 …"},
		exchange{"Alan", "POST /Users", `{"userName":"alan","emails":[{"value":"alan@x"}],"externalId":"b"}`, "201 …"})
	before := send(t, p, "GET /api/users", "")
	taken := func(what string) string { return refused(409, "uniqueness", "Another user has this "+what) }
	invalid := func(detail string) string { return refused(400, "invalidValue", detail) }
	noUserName := invalid("userName must be a text that is not empty")
	expect(t, p,
		exchange{"a userName that is taken", "POST /Users", `{"userName":"ada","emails":[{"value":"new@x"}]}`, taken("userName")},
		exchange{"an email that is taken", "POST /Users", `{"userName":"new","emails":[{"value":"ada@x"}]}`, taken("email")},
		exchange{"in a PUT", "PUT /Users/2", `{"userName":"ada","emails":[{"value":"alan@x"}]}`, taken("userName")},
		exchange{"an empty userName", "POST /Users", `{"userName":""}`, noUserName},
		exchange{"a number for a userName", "POST /Users", `{"userName":1}`,
			invalid("userName must be a text, not a number")},
		exchange{"an active text", "POST /Users", `{"userName":"n","active":"yes"}`,
			invalid("active must be true or false, not a string")},
		exchange{"a number for an email", "POST /Users", `{"userName":"n","emails":[{"value":1}]}`, invalid("emails…")},
		exchange{"broken JSON", "POST /Users", `{"userName":"n"`, refused(400, "invalidSyntax", "The request body is not valid JSON: see byte 15")},
		exchange{"an unknown user", "GET /Users/9", "", refused(404, "", "User not found")},
		exchange{"an id in another form", "GET /Users/01", "", refused(404, "", "User not found")},
		exchange{"an unknown path", "GET /Them", "", refused(404, "", "Not found")},
		exchange{"the path alone", "GET ", "", refused(404, "", "Not found")},
		exchange{"a method that a path does not have", "POST /Users/1", "{}", refused(405, "", "Method not allowed")},
		exchange{"a count that is no number", "GET /Users?count=x", "", refused(400, "invalidValue", "The parameter count must be a whole number")},
	)
	const noMe = "There is no /Me and no /.search: use GET /scim/v2/Users?filter=…"
	for request, says := range map[string]string{
		"POST /Groups": "There are no groups: only users can be provisioned", "GET /Groups/1": "There are no groups: only users can be provisioned",
		"GET /Me": noMe, "PATCH /Me": noMe, "POST /.search": noMe, "POST /Users/.search": noMe,
	} {
		expect(t, p, exchange{"what there is not", request, "{}", refused(501, "", says)})
	}
	expect(t, p, exchange{"a list of groups", `GET /Groups?filter=displayName eq "x"`, "", "200 " + list(0, 1)})
	program.Expect(t, "the users", send(t, p, "GET /api/users", ""), before)
	expect(t, p, exchange{"a deletion", "DELETE /Users/1", "", "204 "},
		exchange{"really deletes", "GET /api/users/1", "", `404 {"error":"User not found"}`},
		exchange{"once", "DELETE /Users/1", "", refused(404, "", "User not found")})
	p.Create(t, "Ada", "ada@example.org")
	for _, method := range []string{"GET", "DELETE"} {
		expect(t, p, exchange{"an email is no id", method + " /Users/ada@example.org", "{}", refused(404, "", "…")})
	}
	p.Do(t, "GET", "/api/users/ada@example.org", "").Expect(t, 200, "…")
}

// The address that a provider was given may end in a slash.
func TestADoubledSlashCountsAsOne(t *testing.T) {
	t.Parallel()
	const key = "full-key-0123456789"
	p := serve(t, needed, "API_KEY="+key)
	for _, test := range [][3]string{
		{"POST //Users", `{"userName":"ada@x","externalId":"a"}`, "201 …"}, {"GET /Users//1", "", `200 {…"id":"1",…`},
		{"GET //Users/", "", refused(404, "", "Not found")}, {"GET ///Users", "", refused(404, "", "Not found")},
	} {
		program.Expect(t, test[0], send(t, p, test[0], test[1], "X-API-Key: "+key), test[2])
		program.Expect(t, test[0]+" without a key", send(t, p, test[0], test[1]), "401 …")
	}
	for _, path := range []string{"//scim/v2/Users", "/scim//v2/Users"} {
		p.Do(t, "GET", path, "", "X-API-Key: "+key).Expect(t, 404, `{"error":"Not found"}`)
	}
}

func TestAnEmptyExternalIDIsNone(t *testing.T) {
	t.Parallel()
	p := serve(t, needed)
	p.Run(t, "add-field", "--unique", "external_id").MustSucceed(t)
	for i, request := range []string{"POST /Users", "POST /Users", "PUT /Users/1"} {
		answer := send(t, p, request, fmt.Sprintf(`{"userName":"%d@x","externalId":""}`, i))
		program.Expect(t, request, answer, `20…{…`)
		program.Forbid(t, answer, "externalId")
	}
	expect(t, p, exchange{"one that another program stored", "PATCH /api/users/1", `{"external_id":""}`, "200 …"},
		exchange{"is not shown", "GET /Users/1", "", `200 {"active":true,"displayName":"2@x","emails":[…],"id":"1",…`},
		exchange{"nor in the list", "GET /Users", "", "200 " + list(0, 1)})
}

func TestTheServiceSaysWhatItCanDo(t *testing.T) {
	t.Parallel()
	few, many := serve(t, needed), serve(t, all)
	kind := `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:ResourceType"],"id":"User",…"endpoint":"/Users","schema":"` + core +
		`","schemaExtensions":[],…}`
	extended := strings.Replace(kind, "[]", `[{"schema":"`+enterprise+`","required":false}]`, 1)
	expect(t, few,
		exchange{"patch and filter, and nothing else", "GET /ServiceProviderConfig", "", `200 {…"patch":{"supported":true},` +
			`"bulk":{"supported":false,…},"filter":{"supported":true,"maxResults":1000},"changePassword":{"supported":false},` +
			`"sort":{"supported":false},"etag":{"supported":false},…}`},
		exchange{"users", "GET /ResourceTypes/User", "", "200 " + kind},
		exchange{"and no groups", "GET /ResourceTypes", "", "200 " + list(1, 1, kind)},
		exchange{"the schema has what fields hold", "GET /Schemas/" + core, "", `200 {…"id":"` + core + `",…"name":"userName","type":"string",` +
			`"multiValued":false,"required":true,…"uniqueness":"server"…"name":"displayName"…"name":"active","type":"boolean"…"name":"name",` +
			`"type":"complex"…"subAttributes":[{"name":"formatted",…}]}…"name":"emails","type":"complex","multiValued":true,…}`},
		exchange{"the type of an email is always work", "GET /Schemas/" + core, "", `200 {…"name":"type",…"mutability":"readOnly",…"name":"primary",…}`},
		exchange{"the extension is not there without a field of it", "GET /Schemas/" + enterprise, "", refused(404, "", "Not found")},
		exchange{"nor among all", "GET /Schemas", "", `200 {…"totalResults":1,…"id":"` + core + `",…}`},
	)
	expect(t, many,
		exchange{"more fields are more attributes", "GET /Schemas", "", `200 {…"totalResults":2,…"name":"title"…"name":"givenName"…"id":"` + enterprise + `",…"name":"costCenter"…}`},
		exchange{"the extension is there with a field of it", "GET /Schemas/" + enterprise, "", `200 {…"name":"costCenter"…}`},
		exchange{"and announced", "GET /ResourceTypes/User", "", "200 " + extended})
	program.Forbid(t, send(t, few, "GET /Schemas", ""), "title", "externalId")
}

// An index counts, whoever has created it, from the next start on.
func TestASchemaSaysWhatTheTableEnforces(t *testing.T) {
	t.Parallel()
	const fields = needed + ",user_name,title,employee_number"
	p := serve(t, fields)
	schemas := func(when, caseExact, userName, email, number string) {
		t.Helper()
		want := "200 {…"
		for _, attribute := range [][3]string{
			{"userName", "true", userName}, {"title", "true", "none"}, {"value", caseExact, email}, {"employeeNumber", "true", number},
		} {
			want += fmt.Sprintf(`"name":"%s","type":"string","multiValued":false,"required":%t,"caseExact":%s,"mutability":"readWrite",`+
				`"returned":"default","uniqueness":"%s"}…`, attribute[0], attribute[0] == "userName", attribute[1], attribute[2])
		}
		expect(t, p, exchange{when, "GET /Schemas", "", want + "}"})
	}
	schemas("only the email is unique", "true", "none", "server", "none")
	program.OpenOther(t, p.DatabasePath()).Do("CREATE UNIQUE INDEX of_two ON users (title, user_name)",
		"CREATE UNIQUE INDEX one ON users (employee_number)")
	p.Run(t, "add-field", "--unique", "user_name").MustSucceed(t)
	p.Run(t, "ignore-email-case").MustSucceed(t)
	p = p.Again(t, "USER_FIELDS="+fields)
	schemas("more is unique", "false", "server", "server", "server")
}

// What tests/api proves of access holds here, in the words of SCIM.
func TestKeysAndTheLogAreThoseOfTheAPI(t *testing.T) {
	t.Parallel()
	const full, read = "full-key-0123456789", "read-key-abcdefghij"
	p := serve(t, needed, "API_KEY=entra "+full, "API_READ_KEY="+read)
	for _, test := range [][3]string{
		{"GET /Users", "Accept: application/problem+json", refused(401, "", "An API key is needed")},
		{"GET /nothing", "X-API-Key: x", refused(401, "", "The API key is not valid")},
		{"GET /Users", "X-API-Key: " + read, "200 " + list(0, 1)},
		{"POST /Users", "X-API-Key: " + read, refused(403, "", "This API key can only read")},
		{"POST /Users", "Origin: https://other.example", refused(403, "", "Requests from a browser on another site are refused")},
		{"POST /Users", "X-API-Key: " + full, "201 …"},
	} {
		got := send(t, p, test[0], `{"userName":"ada@example.org","displayName":"Ada Lovelace"}`, test[1])
		program.Expect(t, test[0]+" with "+test[1], got, test[2])
	}
	program.Expect(t, "the log", p.Line(t, "status=201"), "…route=/scim/v2/Users …key=entra user=1…")
	program.Forbid(t, p.Log(), "Ada", "ada@", full, read)
}

// With the field updated_at, meta says when a user was changed last. Pocket ID leaves alone whom it knows to be as they are.
func TestMetaHasTheTimeOfTheLastChange(t *testing.T) {
	t.Parallel()
	p := serve(t, needed+",updated_at")
	const meta = `…"meta":{"created":"T","lastModified":"T","location":"Users/1","resourceType":"User"}…`
	expect(t, p, exchange{"a creation", "POST /Users", `{"userName":"ada@x","externalId":"a","meta":{"lastModified":"1999-01-01T00:00:00Z"}}`,
		"201 {" + meta},
		exchange{"another one", "POST /Users", `{"userName":"alan@x","externalId":"b"}`, "201 …"})
	other := program.OpenOther(t, p.DatabasePath())
	other.Do("UPDATE users SET updated_at = '2020-01-02 03:04:05+00:00'")
	p.Do(t, "GET", users+"/1", "").Expect(t, 200, `…"lastModified":"2020-01-02T03:04:05Z"…`)
	expect(t, p, exchange{"the same time", `GET /Users?filter=meta.lastModified eq "2020-01-02T04:04:05+01:00"`, "", `200 …"totalResults":2,…`})
	p.Do(t, "PUT", users+"/1", `{"userName":"ada@x","externalId":"a"}`).Expect(t, 200, `…"lastModified":"2020-01-02T03:04:05Z"…`)
	changed := p.Do(t, "PATCH", users+"/1", `{"Operations":[{"op":"replace","path":"displayName","value":"Ada"}]}`)
	changed.Expect(t, 200, p.Do(t, "GET", users+"/1", "").Body)
	other.Do("UPDATE users SET updated_at = NULL WHERE id = 2")
	for filter, want := range map[string]string{
		`meta.lastModified gt "2020-01-02T03:04:05Z"`: `200 …"totalResults":1,…"id":"1",…`,
		`not (META.LASTMODIFIED pr)`:                  `200 …"totalResults":1,…"id":"2",…`,
		`meta.lastModified co "2020"`:                 refused(400, "invalidFilter", "…"),
	} {
		expect(t, p, exchange{"a filter", "GET /Users?filter=" + filter, "", want})
	}
	expect(t, serve(t, needed), exchange{"without the field", `GET /Users?filter=meta.lastModified gt "2020-01-02T03:04:05Z"`, "",
		refused(400, "invalidFilter", "…")})
}
