package scim

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"users-api/tests/program"
)

// found returns the ids of the users that a filter finds, in order, or the answer if it is refused.
func found(t *testing.T, p *program.Program, filter string) string {
	t.Helper()
	answer := send(t, p, "GET /Users?count=1000&filter="+filter, "")
	status, body, _ := strings.Cut(answer, " ")
	var sent struct {
		TotalResults int
		Resources    []struct{ ID string }
	}
	if err := json.Unmarshal([]byte(body), &sent); err != nil || status != "200" {
		return answer
	}
	var ids []string
	for _, user := range sent.Resources {
		ids = append(ids, user.ID)
	}
	program.Expect(t, "the total of "+filter, sent.TotalResults, len(ids))
	return strings.Join(ids, " ")
}

// serveDirectory starts a program with users of every kind: with all values, deactivated, created by hand, and with odd texts.
func serveDirectory(t *testing.T) *program.Program {
	t.Helper()
	p := serve(t, all)
	program.OpenOther(t, p.DatabasePath()).Insert(`INSERT INTO users
		(id, name, email, created_at, external_id, active, user_name, given_name, family_name, title, department, employee_number) VALUES
		(1, 'Ada King', 'Ada@x.org', '2024-01-02 03:04:05+00:00', 'a1', NULL, 'ada', 'Ada', 'King', 'Countess', 'Analysis', '7'),
		(2, 'Alan', 'alan@x.org', '2025-01-02 03:04:05+00:00', 'b2', 'false', 'Alan', 'Alan', NULL, '', NULL, '10'),
		(3, 'Grace', 'grace@y.org', '2026-01-02 03:04:05+00:00', NULL, '', NULL, NULL, NULL, NULL, NULL, NULL),
		(4, 'Zoë "Z" \', 'zoe@y.org', '2026-01-02 03:04:06+00:00', '%', 'true', 'zoë', NULL, NULL, 'and', 'a eq "b"', '_'),
		(10, 'a', 'akadmin', '2026-11-20 00:00:00+00:00', 'A1', 'no', 'ADA', NULL, 'é', '( [', NULL, NULL)`)
	return p
}

// filters are filters, and the ids of the users that they find.
var filters = []struct{ name, filter, ids string }{
	{"the case of a text counts", `externalId eq "A1"`, "10"},
	{"another text, or none", `externalId ne "a1"`, "2 3 4 10"},
	{"a part of a text", `displayName co "a"`, "1 2 3 10"},
	{"the beginning of a text", `displayName sw "A"`, "1 2"},
	{"the end of a text", `title ew "s"`, "1"},
	{"an empty text has all of these", `title co "" and title sw "" and title ew ""`, "1 2 3 4 10"},
	{"a text that is there", `title pr`, "1 4 10"},
	{"no text is an empty one", `title eq ""`, "2 3"},
	{"and a text is not empty", `title ne ""`, "1 4 10"},
	{"texts are in the order of their bytes", `displayName gt "Grace"`, "4 10"},
	{"no text is in none", `title lt "z" or title ge ""`, "1 4 10"},
	{"at least, of an email, too, where it stands for a userName", `userName ge "ada"`, "1 3 4"},
	{"in any letter case", strings.ToUpper(enterprise) + `:DEPARTMENT pr`, "1 4"},
	{"numbers in texts are texts", enterprise + `:employeeNumber lt "7"`, "2"},
	{"in another form it is nobody's", `id eq "010" or id eq "x"`, ""},
	{"and not somebody's, either", `id ne "010"`, "1 2 3 4 10"},
	{"ids are in the order of numbers", `id gt "2" and id lt "10"`, "3 4"},
	{"every user has one", `id pr`, "1 2 3 4 10"},
	{"its beginning", `id sw "1"`, "1 10"},
	{"active is true unless the field is false", `active eq true`, "1 3 4"},
	{"or false", `active eq false`, "2 10"},
	{"every user is active or not", `active pr`, "1 2 3 4 10"},
	{"a time", `meta.created eq "2026-01-02T03:04:05Z"`, "3"},
	{"in another zone", `meta.created eq "2026-01-02T04:04:05+01:00"`, "3"},
	{"from a time on", `meta.created ge "2026-01-02T03:04:05.000Z"`, "3 4 10"},
	{"between two times", `meta.created gt "2024-12-31T00:00:00Z" and meta.created lt "2026-01-01T00:00:00Z"`, "2"},
	{"every user has one", `meta.created pr`, "1 2 3 4 10"},
	{"an email", `emails eq "alan@x.org"`, "2"},
	{"whose case counts without an index that ignores it", `emails.value eq "ada@x.org"`, ""},
	{"the end of an email", `emails.value ew "@x.org"`, "1 2"},
	{"of the type work", `emails[type eq "work" and value co "@y.org"]`, "3 4"},
	{"of another type or with a value", `emails[type eq "home" or value sw "z"]`, "4"},
	{"not of another type", `emails[not (type eq "home")]`, "1 2 3 4"},
	{"any that is shown", `emails pr and emails.value pr and emails[type pr] and emails.primary pr`, "1 2 3 4"},
	{"by what is not shown", `emails.value eq "akadmin" or emails sw "ak"`, ""},
	{"none", `not (emails pr) and emails.value eq "" and emails ne "alan@x.org" and emails.type ne "work" and emails.type eq ""`, "10"},
	{"null is no value", `title eq null or emails EQ null`, "2 3 10"},
	{"and what is not null is one", `title ne  null and userName ne null`, "1 4 10"},
	{"of an id, or whether somebody is active", `id eq null or active eq null or meta.created eq null or meta.resourceType eq null`, ""},
	{"every user is a User", `meta.resourceType eq "User" and meta.resourceType pr`, "1 2 3 4 10"},
	{"and nothing else", `meta.resourceType eq "Group" or meta.resourceType ne "User"`, ""},
	{"of the one that is primary", `emails[primary eq true and value eq "zoe@y.org"]`, "4"},
	{"as Entra ID asks", `Emails[Type eq "Work"].Value eq "alan@x.org"`, "2"},
	{"the type alone", `emails.type eq "work" and emails.primary eq true`, "1 2 3 4"},
	{"a part of the name", `name.givenName pr and name.familyName eq "King"`, "1"},
	{"an escape", `name.familyName eq "\u00e9"`, "10"},
	{"of quotes and backslashes", `displayName eq "Zo\u00EB \"Z\" \\"`, "4"},
	{"a NUL", `displayName eq "a\u0000" or displayName gt "z\u0000" or displayName co "\u0000"`, ""},
	{"the schema before an attribute", core + `:userName EQ "ada"`, "1"},
	{"and, or and not in any letter case", `TITLE PR AND NOT (title EQ "and") OR userName eq "Alan"`, "1 2 10"},
	{"and binds closer than or", `userName eq "Alan" or userName eq "ada" and title eq "x"`, "2"},
	{"unless brackets say otherwise", `(userName eq "Alan" or userName eq "ada") and title pr`, "1"},
	{"not is the complement, also of nothing", `not (title eq "Countess")`, "2 3 4 10"},
	{"blanks where there may be some", `  userName   eq    "ada"  `, "1"},
	{"50 comparisons", strings.Repeat(enterprise+`:employeeNumber eq "7" or `, 49) + `id eq "2"`, "1 2"},
	{"50 brackets", strings.Repeat("(", 50) + `id eq "2"` + strings.Repeat(")", 50), "2"},
}

func TestAFilterFindsUsers(t *testing.T) {
	t.Parallel()
	p := serveDirectory(t)
	for _, test := range filters {
		program.Expect(t, fmt.Sprintf("%s: whom %.2000s finds", test.name, test.filter), found(t, p, test.filter), test.ids)
	}
	expect(t, p, exchange{"who is active", "GET /Users?filter=id pr", "", `200 {…[{"active":true,…},{"active":false,…},{"active":true,…},` +
		`{"active":true,…},{"active":false,…}]}`})
}

// An unknown filter is never an empty list: the provider would create everyone again.
func TestAFilterThatIsNotKnownIsRefused(t *testing.T) {
	t.Parallel()
	p := serve(t, needed)
	p.Do(t, "POST", "/api/users", `{"name":"Ada","email":"Ada@x","external_id":"a"}`)
	for name, filters := range map[string][]string{
		"what is no filter": {
			"", "userName eq", `userName eq Ada@x`, `userName eq "Ada@x`, `userName is "Ada@x"`, `userName eq {}`, "userName\teq \"Ada@x\"",
			`userName eq "x" and`, `userName eq"x"`, `userName eq "x" userName eq "y"`, `(userName eq "x"`, `userName eq "x")`, `not userName eq "x"`,
			`userName eq "\x"`, "userName eq \"\t\"", `userName eq "\u00g0"`, `emails] eq "x"`, `emails[type eq "work".value eq "x"`, `emails[] pr`,
		},
		"an attribute that no field holds": {
			`title eq "x"`, `name eq "x"`, `name.givenName eq "x"`, `schemas eq "` + core + `"`, `active.x eq true`, `meta pr`, `meta.x eq null`,
			`meta.lastModified gt "2026-01-01T00:00:00Z"`, `emails.display eq "x"`, `emails[display pr]`, `urn:x:userName eq "x"`,
			enterprise + `:department pr`, `externalId[type eq "work"]`, `user_name eq "x"`, `userName eq "Ada@x" or title eq "x"`, `not (title pr)`,
		},
		"a value of another type": {
			`userName eq 1`, `userName eq true`, `userName co null`, `meta.resourceType eq true`, `meta.resourceType co "U"`, `emails.type eq true`,
			`id eq 1`, `id gt "x"`, `id ge ""`, `active eq 1`, `active eq "yes"`, `active gt true`, `active co "t"`, `meta.created gt "x"`,
			`meta.created gt 7`, `meta.created ge "2026-02-31T00:00:00Z"`, `meta.created co "2026"`, `emails.primary eq "x"`, `emails.primary co true`,
			`emails[primary eq 1]`, `emails.type co "w"`,
		},
		"what takes the parser long": {
			strings.Repeat("(", 51) + `id eq "1"` + strings.Repeat(")", 51), strings.Repeat(`id eq "1" or `, 50) + `id eq "1"`,
			strings.Repeat("(", 8000), strings.Repeat("emails[", 2000) + `type eq "work"`,
			strings.Repeat(" ", 9000) + `id eq "1" or` + strings.Repeat(" ", 9000) + `id eq "1"`,
		},
	} {
		for _, filter := range filters {
			expect(t, p, exchange{name, "GET /Users?filter=" + filter, "",
				refused(400, "invalidFilter", `A filter must be one of RFC 7644, section 3.4.2.2, such as …`)})
		}
	}
	for _, query := range []string{"?filter=userName+eq+%22Ada@x%22&filter=id+eq+%222%22", "?filter=userName+eq+%22%ff%22"} {
		p.Do(t, "GET", users+query, "").Expect(t, 400, "…invalidFilter…")
	}
}

// people are what the lists are of: two that a provider knows, and one that was created by hand.
const (
	ada   = `{"active":true,"displayName":"Ada","emails":[{"primary":true,"type":"work","value":"Ada@x"}],"externalId":"a",…"userName":"Ada@x"}`
	alan  = `{"active":false,"displayName":"Alan","emails":[{"primary":true,"type":"work","value":"alan@x"}],"externalId":"b",…"userName":"alan@x"}`
	grace = `{"active":true,"displayName":"Grace","emails":[{"primary":true,"type":"work","value":"grace@x"}],"id":"2",…"userName":"grace@x"}`
)

func servePeople(t *testing.T) *program.Program {
	t.Helper()
	p := serve(t, needed)
	expect(t, p, exchange{"Ada", "POST /api/users", `{"name":"Ada","email":"Ada@x","external_id":"a"}`, "201 …"},
		exchange{"Grace", "POST /api/users", `{"name":"Grace","email":"grace@x","external_id":""}`, "201 …"},
		exchange{"Alan", "POST /api/users", `{"name":"Alan","email":"alan@x","external_id":"b","active":"false"}`, "201 …"})
	return p
}

func TestAListWithoutAFilterHasTheUsersThatTheProviderKnows(t *testing.T) {
	t.Parallel()
	p := servePeople(t)
	expect(t, p, exchange{"all", "GET /Users", "", "200 " + list(2, 1, ada, alan)},
		exchange{"the second", "GET /Users?startIndex=2&count=1", "", "200 " + list(2, 2, alan)},
		exchange{"far beyond it", "GET /Users?startIndex=9223372036854775807", "", "200 " + list(2, 2147483647)},
		exchange{"before the beginning", "GET /Users?startIndex=-7&count=5000", "", "200 " + list(2, 1, ada, alan)},
		exchange{"a count below 0 is 0", "GET /Users?count=-1", "", "200 " + list(2, 1)},
		exchange{"parameters that are not known have no effect, such as an order", "GET /Users?sortBy=userName&sortOrder=descending&attributes=id&x=1",
			"", "200 " + list(2, 1, ada, alan)},
		exchange{"nor what Entra's documents let people add", "GET /Users?AADoptscim062020&count=1&AzureAdScimPatch062020&domain=x", "", "200 " + list(2, 1, ada)},
		exchange{"a filter and a place", "GET /Users?startIndex=2&filter=active eq true", "", "200 " + list(2, 2, grace)},
	)
	rows := "name,email,external_id\n"
	for i := range 1100 {
		rows += fmt.Sprintf("n,e%d,x\n", i)
	}
	p.Do(t, "POST", program.CSV, rows)
	for query, want := range map[string]int{"": 100, "?count=1000": 1000, "?count=1001": 1000, "?startIndex=1001&count=1000": 102} {
		program.Expect(t, "how many users "+query+" has", strings.Count(p.Do(t, "GET", users+query, "").Body, `"externalId"`), want)
	}
}

// The case of a user_name counts; that of an email, which stands for one that is missing, where it counts in the table.
func TestAUserNameInAnotherCaseFindsTheUserWhereItsCaseDoesNotMatter(t *testing.T) {
	t.Parallel()
	p := servePeople(t)
	p.Run(t, "add-field", "user_name").MustSucceed(t)
	p.Run(t, "ignore-email-case").MustSucceed(t)
	p = p.Again(t, "USER_FIELDS="+needed+",user_name")
	p.Do(t, "POST", "/api/users", `{"name":"Bob","email":"bob@x","user_name":"Bob"}`).Expect(t, 201, "…")
	expect(t, p, exchange{"in capitals", `GET /Users?filter=userName eq "ADA@X"`, "", "200 " + list(1, 1, ada)},
		exchange{"but not of a user_name", `GET /Users?filter=userName eq "BOB"`, "", "200 " + list(0, 1)},
		exchange{"as another email", `GET /Users?filter=userName eq "ADA@X" and emails.value eq "alan@x"`, "", "200 " + list(0, 1)},
		exchange{"by parts of it", `GET /Users?filter=emails sw "ADA" and emails.value co "A@" and userName ew "@X"`, "", "200 " + list(1, 1, ada)},
		exchange{"in the order of small letters", `GET /Users?filter=emails gt "ADA@X" and emails.value le "ALAN@X"`, "", "200 " + list(1, 1, alan)},
		exchange{"a second one", "POST /Users", `{"userName":"ADA@x"}`, refused(409, "uniqueness", "…")},
		exchange{"another case of one's own", "PATCH /Users/1", operations(`{"op":"replace","path":"emails","value":[{"value":"ADA@x"}]}`), `200 {…"userName":"ADA@x"}`})
}
