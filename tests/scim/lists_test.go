package scim

import (
	"fmt"
	"strings"
	"testing"

	"users-api/tests/program"
)

// people are what the lists are of: two that a provider knows, and one that was created by hand.
const (
	ada   = `{"active":true,"displayName":"Ada","emails":[{"primary":true,"type":"work","value":"Ada@x"}],"externalId":"a",…"userName":"Ada@x"}`
	alan  = `{"active":false,"displayName":"Alan","emails":[{"primary":true,"type":"work","value":"alan@x"}],"externalId":"b",…"userName":"alan@x"}`
	grace = `{"active":true,"displayName":"Grace","emails":[{"primary":true,"type":"work","value":"grace@x"}],"externalId":"","id":"2",…"userName":"grace@x"}`
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
		exchange{"beyond the end", "GET /Users?startIndex=3", "", "200 " + list(2, 3)},
		exchange{"far beyond it", "GET /Users?startIndex=9223372036854775807", "", "200 " + list(2, 2147483647)},
		exchange{"before the beginning", "GET /Users?startIndex=-7&count=5000", "", "200 " + list(2, 1, ada, alan)},
		exchange{"only counted", "GET /Users?count=0", "", "200 " + list(2, 1)},
		exchange{"a count below 0 is 0", "GET /Users?count=-1", "", "200 " + list(2, 1)},
		exchange{"an order has no effect, nor what Entra's documents add",
			"GET /Users?sortBy=userName&sortOrder=descending&attributes=id&aadOptscim062020", "", "200 " + list(2, 1, ada, alan)},
		exchange{"a filter and a place", "GET /Users?startIndex=2&filter=active eq true", "", "200 " + list(2, 2, grace)},
	)
	rows := "name,email,external_id\n"
	for i := range 1100 {
		rows += fmt.Sprintf("n,e%d,x\n", i)
	}
	p.Do(t, "POST", program.CSV, rows)
	for query, want := range map[string]int{"": 100, "?count=1000": 1000, "?count=1001": 1000, "?startIndex=1001&count=1000": 102} {
		if got := strings.Count(p.Do(t, "GET", users+query, "").Body, `"externalId"`); got != want {
			t.Errorf("%s has %d users, want %d", query, got, want)
		}
	}
}

func TestAPageOfLongUsersIsShorter(t *testing.T) {
	t.Parallel()
	p := serve(t, needed)
	for i := range 5 {
		p.Do(t, "POST", users, fmt.Sprintf(`{"userName":"%d","externalId":"x","displayName":"%s"}`, i, strings.Repeat("n", 100<<10)))
	}
	expect(t, p, exchange{"three fill it", "GET /Users", "", `200 {…"totalResults":5,"startIndex":1,"itemsPerPage":3,…}`},
		exchange{"the others follow", "GET /Users?startIndex=4", "", `200 {…"totalResults":5,"startIndex":4,"itemsPerPage":2,…}`})
}

func TestAFilterFindsUsers(t *testing.T) {
	t.Parallel()
	p := servePeople(t)
	for filter, want := range map[string]string{
		`userName eq "ada@x"`:         list(0, 1),
		`id eq "02"`:                  list(0, 1),
		core + `:userName EQ "Ada@x"`: list(1, 1, ada),
		`userName eq "grace@x"`:       list(1, 1, grace), // who was created by hand: a provider links the user
		`displayName eq "Ada"`:        list(1, 1, ada),
		`EMAILS eq "alan@x"`:          list(1, 1, alan),
		`externalId eq "b" AND username eq "alan@x" and active eq false`: list(1, 1, alan),
		`id eq "2"`:               list(1, 1, grace),
		`id eq "1" and id eq "2"`: list(0, 1),
		`active eq false`:         list(1, 1, alan),
		`Emails[Type eq "work"].Value eq "alan@x"`:                       list(1, 1, alan),
		`emails[primary eq true].value eq "alan@x"`:                      list(1, 1, alan),
		`userName eq "Ada@x" and emails.value eq "ada@x"`:                list(0, 1),
		`userName eq "a \" and ] b" and externalId eq "and eq"`:          list(0, 1),
		`externalId eq "x" and externalId eq "\\" and externalId eq "x"`: list(0, 1),
	} {
		expect(t, p, exchange{filter, "GET /Users?filter=" + filter, "", "200 " + want})
	}
}

// An unknown filter is never an empty list: the provider would create everyone again.
func TestAFilterThatIsNotKnownIsRefused(t *testing.T) {
	t.Parallel()
	p := servePeople(t)
	for _, filter := range []string{
		"", "userName", "userName eq", `userName eq ""Ada@x""`, `userName eq Ada@x`, `userName eq "Ada@x`, `userName eq  "Ada@x"`,
		` userName eq "Ada@x"`, `userName eq "Ada@x" `, `userName eq 1`, `userName eq null`, `userName eq {}`, "userName eq \"Ada@x\"\n",
		`active eq 1`, `active eq "yes"`, `id eq 1`, `userName ne "x"`, `userName pr`, `not (userName eq "x")`, `(userName eq "Ada@x")`,
		`userName eq "x" or userName eq "y"`, `userName eq "x" and`, `and userName eq "x"`, `userName eq "x" userName eq "y"`,
		`title eq "x"`, `name.formatted eq "Ada"`, `nickName eq "x"`, `emails[type eq "home"].value eq "alan@x"`,
		`emails[type eq "work"] eq "alan@x"`, `emails[type eq "work".value eq "x"`, `emails] eq "x"`, `emails[type pr].value eq "x"`,
		`externalId[type eq "work"] eq "a"`, strings.Repeat("emails[", 2000) + `type eq "work"`, strings.Repeat("(", 8000),
	} {
		expect(t, p, exchange{"a filter", "GET /Users?filter=" + filter, "", refused(400, "invalidFilter", `A filter must be conditions such as …`)})
	}
}

func TestAUserNameInAnotherCaseFindsTheUserWhereItsCaseDoesNotMatter(t *testing.T) {
	t.Parallel()
	p := servePeople(t)
	p.Run(t, "ignore-email-case").MustSucceed(t)
	program.WaitFor(t, "the case is ignored", func() bool {
		return p.Do(t, "GET", "/api/users?email=ADA@X", "").Body != "[]"
	})
	expect(t, p, exchange{"in capitals", `GET /Users?filter=userName eq "ADA@X"`, "", "200 " + list(1, 1, ada)},
		exchange{"as another email", `GET /Users?filter=userName eq "ADA@X" and emails.value eq "alan@x"`, "", "200 " + list(0, 1)},
		exchange{"a second one", "POST /Users", `{"userName":"ADA@x"}`, refused(409, "uniqueness", "…")},
		exchange{"another case of one's own", "PUT /Users/1", `{"userName":"ADA@x","externalId":"a"}`, `200 {…"userName":"ADA@x"}`})
}
