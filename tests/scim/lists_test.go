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
		exchange{"beyond the end", "GET /Users?startIndex=3", "", "200 " + list(2, 3)},
		exchange{"far beyond it", "GET /Users?startIndex=9223372036854775807", "", "200 " + list(2, 2147483647)},
		exchange{"before the beginning", "GET /Users?startIndex=-7&count=5000", "", "200 " + list(2, 1, ada, alan)},
		exchange{"only counted", "GET /Users?count=0", "", "200 " + list(2, 1)},
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
